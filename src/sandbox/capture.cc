// SPDX-License-Identifier: Apache-2.0
#include "sandbox/capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fault.h"

namespace ww::sandbox {
namespace {

constexpr size_t kBlock = 64 << 10;  // a pipe's usual capacity

}  // namespace

Capture::Capture(uint64_t limit_bytes) : pipe_(make_pipe()), limit_bytes_(limit_bytes) {
  if (::fcntl(pipe_.read.get(), F_SETFL, O_NONBLOCK) != 0) throw_errno("preparing a pipe");
}

bool Capture::drain() {
  if (!pipe_.read.valid()) return false;
  char block[kBlock];
  const ssize_t count = ::read(pipe_.read.get(), block, sizeof block);
  if (count < 0) return errno == EINTR;
  if (count == 0) {
    pipe_.read.reset();
    return false;
  }
  const uint64_t kept = std::min<uint64_t>(limit_bytes_ - text_.size(), static_cast<uint64_t>(count));
  text_.append(block, kept);
  cut_ = cut_ || kept < static_cast<uint64_t>(count);
  return true;
}

void Capture::drain_rest() {
  constexpr int kMostBlocks = 64;
  for (int i = 0; i < kMostBlocks && drain(); ++i) {
  }
}

}  // namespace ww::sandbox
