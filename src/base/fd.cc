// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fault.h"

namespace ww {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Fd Fd::duplicate() const {
  Fd copy(::fcntl(fd_, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) throw_errno("duplicating a file descriptor");
  return copy;
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("making a pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

Fd make_eventfd() {
  Fd fd(::eventfd(0, EFD_CLOEXEC));
  if (!fd.valid()) throw_errno("making an eventfd");
  return fd;
}

}  // namespace ww
