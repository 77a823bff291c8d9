// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "base/fault.h"
#include "cli/exit_code.h"

namespace ww::cli {
namespace {

std::atomic<bool> asked_to_stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

void note_signal(int) {
  if (asked_to_stop.exchange(true)) ::_exit(kExitInterrupted);
}

}  // namespace

void watch_for_interrupt() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& interrupted() { return asked_to_stop; }

void stop_if_interrupted() {
  if (asked_to_stop) throw Fault(Fault::Kind::kInterrupted, "interrupted");
}

}  // namespace ww::cli
