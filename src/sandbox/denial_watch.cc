// SPDX-License-Identifier: Apache-2.0
#include "sandbox/denial_watch.h"

#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/signals_blocked.h"

namespace ww::sandbox {
namespace {

/// True if `fd` is readable, false if the program ended first.
bool readable_before_end(int fd, const Fd& pidfd) {
  pollfd events[] = {{fd, POLLIN, 0}, {pidfd.get(), POLLIN, 0}};
  while (::poll(events, 2, -1) < 0 && errno == EINTR) {
  }
  return (events[0].revents & POLLIN) != 0;
}

/// Kernels may write more than the structure that we know.
struct Notification {
  seccomp_notif known;
  char younger[256];
};

union Control {
  cmsghdr header;
  char space[CMSG_SPACE(sizeof(int))];
};

}  // namespace

int send_listener(int channel, int listener) {
  char byte = 'l';
  iovec data = {&byte, 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control.space;
  control.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), &listener, sizeof listener);
  const int error = ::sendmsg(channel, &message, MSG_NOSIGNAL) == 1 ? 0 : errno;
  ::close(listener);
  ::close(channel);
  return error;
}

DenialWatch::DenialWatch(Fd channel, const Fd& pidfd) : channel_(std::move(channel)), pidfd_(pidfd.duplicate()) {
  const SignalsBlocked blocked;  // inherited: signals are for the program's own threads
  thread_ = std::thread([this] { watch(); });
}

DenialWatch::~DenialWatch() { finish(); }

void DenialWatch::finish() {
  if (thread_.joinable()) thread_.join();
}

Fd DenialWatch::receive_listener() {
  char byte;
  iovec data = {&byte, 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control.space;
  if (::recvmsg(channel_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1) return Fd();
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return Fd();
  int listener;
  memcpy(&listener, CMSG_DATA(header), sizeof listener);
  return Fd(listener);
}

void DenialWatch::watch() {
  if (!readable_before_end(channel_.get(), pidfd_)) return;
  const Fd listener = receive_listener();
  channel_.reset();
  while (listener.valid() && readable_before_end(listener.get(), pidfd_)) {
    Notification notification = {};
    if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &notification) != 0) continue;  // the caller is gone already
    denied_ = notification.known.data.nr;
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    return;
  }
}

}  // namespace ww::sandbox
