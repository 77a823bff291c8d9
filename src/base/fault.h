// SPDX-License-Identifier: Apache-2.0
//
// Fault: something is wrong with us or with the machine (no compiler, disk full, cgroup not writable). Thrown, and
// caught only at the edges: CLI main, one job of a service, one judging. Never turned into a reward.
// WW_CHECK: our own invariant broke; ends the process, in release builds too.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace ww {

class Fault : public std::runtime_error {
 public:
  enum class Kind { kMissing, kSystem, kDisk, kProtocol, kInterrupted };

  /// `message` names the thing, the limit and the next step. `code` is an errno, or 0.
  Fault(Kind kind, const std::string& message, int code = 0);

  Kind kind() const { return kind_; }
  int code() const { return code_; }

 private:
  Kind kind_;
  int code_;
};

/// Throws Fault{kSystem or kDisk} reading "`what`: strerror(code)", for a full or read-only disk with the next step.
[[noreturn]] void throw_errno(std::string_view what, int code);
/// The same with the current errno.
[[noreturn]] void throw_errno(std::string_view what);

[[noreturn]] void check_failed(const char* condition, std::string_view message, const char* file, int line) noexcept;

}  // namespace ww

#define WW_CHECK(condition, message)                                                 \
  do {                                                                               \
    if (!(condition)) ::ww::check_failed(#condition, (message), __FILE__, __LINE__); \
  } while (false)
