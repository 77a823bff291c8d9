// SPDX-License-Identifier: Apache-2.0
//
// Fd: owns one file descriptor. All descriptors made here are close-on-exec.
#pragma once

#include <utility>

namespace ww {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();
  /// A second descriptor for the same file, close-on-exec. Throws Fault.
  Fd duplicate() const;

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

/// Throws Fault.
Pipe make_pipe();
Fd make_eventfd();

}  // namespace ww
