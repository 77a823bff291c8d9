// SPDX-License-Identifier: Apache-2.0
#include "agent/history.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace ww::agent {
namespace {

constexpr size_t kMessageBytes = 12;               // role and separators, as chat templates write them
constexpr double kLeastRatio = 1, kMostRatio = 8;  // bytes a token; beyond them a report counts something else

std::string text_of(const Json& event, const char* key) { return event.value(key, std::string()); }

/// What a reply without calls is answered, so that a model always has something to answer.
std::string nudge(const Json& reply) {
  if (text_of(reply, "finish") == "length") {
    return "Your reply was cut by the limit on its length. Write less in one reply: one file, one call.";
  }
  return "Call a tool, or call finish.";
}

}  // namespace

std::vector<ToolCall> calls_of(const Json& reply) {
  std::vector<ToolCall> calls;
  for (const Json& call : reply.at("calls")) calls.push_back({call.at("id"), call.at("tool"), call.at("arguments")});
  return calls;
}

void History::add(Message message) {
  bytes_ += kMessageBytes + message.text.size() + message.reasoning.size();
  for (const ToolCall& call : message.calls) bytes_ += kMessageBytes + call.tool.size() + call.arguments.size();
  messages_.push_back(std::move(message));
}

void History::take_reply(const Json& event) {
  const auto calls = calls_of(event);
  open_.assign(calls.begin(), calls.end());
  add({.role = Role::kModel,
       .text = event.at("text"),
       .calls = calls,
       .reasoning = text_of(event, "reasoning"),
       .echo = text_of(event, "echo")});
  if (event.contains("usage")) take_usage(event["usage"]);
  if (calls.empty()) add({.role = Role::kUser, .text = nudge(event)});
}

void History::take_usage(const Json& usage) {
  const int64_t tokens = usage.at("input").get<int64_t>() + usage.at("output").get<int64_t>();
  const double ratio = static_cast<double>(bytes_) / static_cast<double>(std::max<int64_t>(tokens, 1));
  // A report over several tries counts the history several times; a token is a byte at least.
  if (ratio < kLeastRatio || ratio > kMostRatio) return;
  bytes_per_token_ = ratio;
  counted_tokens_ = tokens;
  counted_bytes_ = bytes_;
}

int64_t History::tokens() const {
  return counted_tokens_ +
         static_cast<int64_t>(std::ceil(static_cast<double>(bytes_ - counted_bytes_) / bytes_per_token_));
}

void History::take(const Json& event) {
  const std::string kind = event.at("event");
  if (kind == "start") {
    prompt_ = event.at("prompt");
    add({.role = Role::kUser, .text = prompt_});
  } else if (kind == "reply") {
    take_reply(event);
  } else if (kind == "tool") {
    add({.role = Role::kTool,
         .text = event.at("text"),
         .call = std::move(open_.front()),
         .data = event.at("data").dump()});
    open_.pop_front();
  } else if (kind == "notice") {
    add({.role = Role::kUser, .text = event.at("text")});
  } else if (kind == "compact") {
    messages_.clear();
    bytes_ = overhead_bytes_;
    counted_tokens_ = 0;
    counted_bytes_ = 0;
    add({.role = Role::kUser, .text = prompt_ + "\n\n" + event.at("text").get<std::string>()});
    messages_.back().data = Json{{"replies", event.at("replies")}}.dump();
  }
}

}  // namespace ww::agent
