// SPDX-License-Identifier: Apache-2.0
#include "base/fault.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ww {

Fault::Fault(Kind kind, const std::string& message, int code) : std::runtime_error(message), kind_(kind), code_(code) {}

namespace {

const char* next_step(int code) {
  if (code == ENOSPC || code == EDQUOT) return "; free space on that disk";
  return code == EROFS ? "; choose a place that can be written to" : "";
}

}  // namespace

void throw_errno(std::string_view what, int code) {
  const bool disk = code == ENOSPC || code == EDQUOT || code == EROFS;
  throw Fault(disk ? Fault::Kind::kDisk : Fault::Kind::kSystem,
              std::string(what) + ": " + std::strerror(code) + next_step(code), code);
}

void throw_errno(std::string_view what) { throw_errno(what, errno); }

void check_failed(const char* condition, std::string_view message, const char* file, int line) noexcept {
  std::fprintf(stderr, "warpwright: internal error at %s:%d: %.*s (%s)\n", file, line, static_cast<int>(message.size()),
               message.data(), condition);
  std::abort();
}

}  // namespace ww
