// SPDX-License-Identifier: Apache-2.0
#include "base/interrupt.h"

#include <unistd.h>

#include <cstdint>

#include "base/fault.h"
#include "base/fd.h"

namespace ww {
namespace {

std::atomic<bool> asked = false;
std::atomic<int> event_fd = -1;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "set from a signal handler");

void make_readable() noexcept {
  const uint64_t one = 1;
  if (event_fd < 0) return;
  // A full counter is readable as well.
  [[maybe_unused]] const ssize_t count = ::write(event_fd, &one, sizeof one);
}

}  // namespace

bool request_stop() noexcept {
  const bool before = asked.exchange(true);
  make_readable();
  return before;
}

const std::atomic<bool>& interrupted() { return asked; }

void stop_if_interrupted() {
  if (asked) throw Fault(Fault::Kind::kInterrupted, "interrupted");
}

int interrupt_fd() {
  static const int made = [] {
    event_fd = make_eventfd().release();
    if (asked) make_readable();
    return event_fd.load();
  }();
  return made;
}

}  // namespace ww
