// SPDX-License-Identifier: Apache-2.0
//
// The referee's parent as a process in the sandbox: what it may see, its environment, its socket. Internal to the
// referee's client.
#pragma once

#include <cstdint>
#include <string>

#include "base/message_socket.h"
#include "sandbox/sandbox.h"

namespace ww::judge {

struct RefereeSettings;

class RefereeProcess {
 public:
  /// Starts it; torch is imported later. Throws Fault.
  explicit RefereeProcess(const RefereeSettings& settings);

  MessageSocket& socket() { return socket_; }
  const sandbox::Isolation& isolation() const { return process_.isolation(); }
  /// What one child may take of private memory.
  uint64_t child_memory_bytes() const { return child_memory_bytes_; }

  /// Ends it and throws the Fault that says why it did not answer `request`, with the last line it wrote.
  [[noreturn]] void fail(const std::string& request, bool silent);

 private:
  RefereeProcess(const RefereeSettings& settings, std::pair<MessageSocket, MessageSocket> sockets);

  uint64_t child_memory_bytes_;
  MessageSocket socket_;
  sandbox::Process process_;
};

}  // namespace ww::judge
