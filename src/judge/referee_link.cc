// SPDX-License-Identifier: Apache-2.0
#include "judge/referee_link.h"

#include "base/fault.h"
#include "base/json.h"

namespace ww::judge {
namespace {

[[noreturn]] void malformed(const std::string& what) {
  throw Fault(Fault::Kind::kProtocol, "the referee's reply is malformed: " + what);
}

}  // namespace

LinkReply exchange(MessageSocket& socket, const Json& request, const std::vector<int>& fds, nanoseconds limit) {
  if (!socket.send(request.dump(), fds)) return {.end = LinkEnd::kClosed};
  auto message = socket.receive(limit);
  if (!message) {
    return {.end = message.error().message == "timeout" ? LinkEnd::kTimeout : LinkEnd::kClosed};
  }
  return {LinkEnd::kReply, std::move(message->bytes), message->sender};
}

Json parse_reply(const std::string& bytes, std::string_view request) {
  auto reply = parse_json(bytes, "referee");
  if (!reply || !reply->is_object() || !reply->contains("ok") || !(*reply)["ok"].is_boolean()) {
    malformed("no answer to " + std::string(request));
  }
  return std::move(*reply);
}

const Json& member(const Json& reply, const char* key) {
  if (!reply.is_object() || !reply.contains(key)) malformed(std::string("no ") + key);
  return reply[key];
}

bool bool_member(const Json& reply, const char* key) {
  const Json& value = member(reply, key);
  if (!value.is_boolean()) malformed(std::string(key) + " is not true or false");
  return value.get<bool>();
}

double number_member(const Json& reply, const char* key) {
  const Json& value = member(reply, key);
  if (!value.is_number()) malformed(std::string(key) + " is not a number");
  return value.get<double>();
}

int int_member(const Json& reply, const char* key) {
  const Json& value = member(reply, key);
  if (!value.is_number_integer()) malformed(std::string(key) + " is not a whole number");
  return value.get<int>();
}

std::string text_member(const Json& reply, const char* key) {
  const Json& value = member(reply, key);
  if (!value.is_string()) malformed(std::string(key) + " is not text");
  return value.get<std::string>();
}

std::vector<std::string> texts_member(const Json& reply, const char* key) {
  const Json& value = member(reply, key);
  if (!value.is_array()) malformed(std::string(key) + " is not a list");
  std::vector<std::string> texts;
  for (const Json& item : value) {
    if (!item.is_string()) malformed(std::string(key) + " is not a list of texts");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::vector<task::TensorSpec> specs_member(const Json& reply, const char* key) {
  const Json& value = member(reply, key);
  if (!value.is_array()) malformed(std::string(key) + " is not a list");
  std::vector<task::TensorSpec> specs;
  for (const Json& item : value) {
    auto spec = task::tensor_spec_from_json(item);
    if (!spec) malformed(std::string(key) + ": " + spec.error().text());
    specs.push_back(std::move(*spec));
  }
  return specs;
}

}  // namespace ww::judge
