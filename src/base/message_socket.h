// SPDX-License-Identifier: Apache-2.0
//
// Length-prefixed messages with file descriptors over a Unix stream socket. The peer may be hostile: sizes are capped
// and a message is bytes, never trusted structure. One thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace ww {

struct Message {
  std::string bytes;
  std::vector<Fd> fds;
  pid_t sender = 0;  ///< as the kernel vouches for it, in our pid namespace; 0 unless credentials were asked for
};

/// Wire format: a 4-byte little-endian length, then that many bytes; descriptors ride on the first byte.
class MessageSocket {
 public:
  MessageSocket() = default;
  explicit MessageSocket(Fd fd, uint32_t limit_bytes = 64u << 20) : fd_(std::move(fd)), limit_bytes_(limit_bytes) {}

  /// A connected pair, both close-on-exec. Throws Fault.
  static std::pair<MessageSocket, MessageSocket> pair();

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  Fd release() { return std::move(fd_); }
  void close() { fd_.reset(); }

  /// Asks the kernel to vouch for senders from now on. Throws Fault.
  void ask_credentials();

  /// Error if the peer is gone. Never raises SIGPIPE.
  Status send(std::string_view bytes, const std::vector<int>& fds = {});

  /// Waits up to `limit`. Throws Fault{kInterrupted} on a request to stop. Error where the peer is gone ("closed"),
  /// silent ("timeout") or over the size limit.
  Result<Message> receive(nanoseconds limit);

 private:
  Status receive_exactly(char* data, size_t size, Message& message, nanoseconds deadline);

  Fd fd_;
  uint32_t limit_bytes_ = 64u << 20;
};

}  // namespace ww
