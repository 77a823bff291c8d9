// SPDX-License-Identifier: Apache-2.0
//
// One request and its reply over a referee's socket, and reading fields of a reply that may be anything. Internal to
// the referee's client.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json_fwd.h"
#include "base/message_socket.h"
#include "base/result.h"
#include "task/tensor.h"

namespace ww::judge {

/// How an exchange ended, before anybody looks at the reply.
enum class LinkEnd { kReply, kClosed, kTimeout };

struct LinkReply {
  LinkEnd end = LinkEnd::kReply;
  std::string bytes = {};
  pid_t sender = 0;
};

/// Throws Fault only for faults of ours.
LinkReply exchange(MessageSocket& socket, const Json& request, const std::vector<int>& fds, nanoseconds limit);

/// The reply as an object with a boolean "ok". Throws Fault{kProtocol} where it is not.
Json parse_reply(const std::string& bytes, std::string_view request);

/// Typed members of a reply. All throw Fault{kProtocol} naming the key.
const Json& member(const Json& reply, const char* key);
bool bool_member(const Json& reply, const char* key);
double number_member(const Json& reply, const char* key);
int int_member(const Json& reply, const char* key);
std::string text_member(const Json& reply, const char* key);
std::vector<std::string> texts_member(const Json& reply, const char* key);
std::vector<task::TensorSpec> specs_member(const Json& reply, const char* key);

}  // namespace ww::judge
