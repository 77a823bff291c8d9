// SPDX-License-Identifier: Apache-2.0
#include "base/message_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/interrupt.h"

namespace ww {
namespace {

constexpr size_t kMaximumFds = 16;

Error closed() { return Error{"closed", ""}; }

}  // namespace

std::pair<MessageSocket, MessageSocket> MessageSocket::pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("making a socket pair");
  return {MessageSocket(Fd(ends[0])), MessageSocket(Fd(ends[1]))};
}

void MessageSocket::ask_credentials() {
  const int on = 1;
  if (::setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) throw_errno("asking for credentials");
}

Status MessageSocket::send(std::string_view bytes, const std::vector<int>& fds) {
  WW_CHECK(fds.size() <= kMaximumFds, "too many descriptors in one message");
  const uint32_t length = static_cast<uint32_t>(bytes.size());
  std::string wire(reinterpret_cast<const char*>(&length), sizeof length);
  wire += bytes;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaximumFds * sizeof(int))] = {};
  size_t done = 0;
  while (done < wire.size()) {
    iovec part{wire.data() + done, wire.size() - done};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (done == 0 && !fds.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
    }
    const ssize_t count = ::sendmsg(fd_.get(), &header, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return closed();
    done += static_cast<size_t>(count);
  }
  return Unit{};
}

Status MessageSocket::receive_exactly(char* data, size_t size, Message& message, nanoseconds deadline) {
  size_t done = 0;
  while (done < size) {
    const nanoseconds left = deadline - now();
    if (left.count() <= 0) return Error{"timeout", ""};
    stop_if_interrupted();
    pollfd waiting[] = {{fd_.get(), POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
    const timespec limit{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    const int ready = ::ppoll(waiting, 2, &limit, nullptr);
    if (ready < 0 && errno != EINTR) throw_errno("waiting for a message");
    if (ready <= 0 || !waiting[0].revents) continue;
    alignas(cmsghdr) char control[CMSG_SPACE(kMaximumFds * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
    iovec part{data + done, size - done};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t count = ::recvmsg(fd_.get(), &header, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return closed();
    for (cmsghdr* item = CMSG_FIRSTHDR(&header); item; item = CMSG_NXTHDR(&header, item)) {
      if (item->cmsg_level != SOL_SOCKET) continue;
      if (item->cmsg_type == SCM_RIGHTS) {
        const size_t number = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < number; i++) {
          int received;
          std::memcpy(&received, CMSG_DATA(item) + i * sizeof(int), sizeof received);
          message.fds.emplace_back(received);
        }
      } else if (item->cmsg_type == SCM_CREDENTIALS) {
        ucred sender;
        std::memcpy(&sender, CMSG_DATA(item), sizeof sender);
        message.sender = sender.pid;
      }
    }
    done += static_cast<size_t>(count);
  }
  return Unit{};
}

Result<Message> MessageSocket::receive(nanoseconds limit) {
  const nanoseconds deadline = now() + limit;
  Message message;
  uint32_t length = 0;
  if (auto got = receive_exactly(reinterpret_cast<char*>(&length), sizeof length, message, deadline); !got) {
    return got.error();
  }
  if (length > limit_bytes_) return Error{"a message of " + std::to_string(length) + " bytes is over the limit", ""};
  // Grown as bytes arrive, so that a hostile length alone costs nothing.
  constexpr size_t kStep = 1 << 20;
  while (message.bytes.size() < length) {
    const size_t from = message.bytes.size();
    message.bytes.resize(std::min<size_t>(length, from + kStep));
    if (auto got = receive_exactly(message.bytes.data() + from, message.bytes.size() - from, message, deadline); !got) {
      return got.error();
    }
  }
  return message;
}

}  // namespace ww
