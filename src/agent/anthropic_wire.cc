// SPDX-License-Identifier: Apache-2.0
//
// Anthropic's messages format.
#include <fmt/format.h>

#include "agent/arguments.h"
#include "agent/endpoint_error.h"
#include "agent/wire.h"
#include "base/json.h"

namespace ww::agent {
namespace {

/// The format wants a limit always; this one every current model takes.
constexpr int kDefaultMaxTokens = 32'000;

// ---- request

Json text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

Json result_block(const Message& message, const CallIds& ids) {
  Json block = {{"type", "tool_result"}, {"tool_use_id", ids.of_answer(message.call.id)}, {"content", message.text}};
  const auto data = parse_foreign(message.data);
  if (data && data->is_object() && data->contains("error")) block["is_error"] = true;
  return block;
}

/// Reply::echo of this format: the thinking blocks, whose signatures are checked when they come back.
void put_echo(Json& blocks, const std::string& text) {
  const auto echo = text.empty() ? Result<Json>(Json::array()) : parse_foreign(text);
  if (!echo || !echo->is_array()) return;
  for (const Json& block : *echo) blocks.push_back(block);
}

Json model_blocks(const Message& message, const Features& features, CallIds& ids) {
  Json blocks = Json::array();
  if (features.reasoning_back) put_echo(blocks, message.echo);
  if (!message.text.empty()) blocks.push_back(text_block(message.text));
  for (const ToolCall& call : message.calls) {
    auto input = parse_foreign(sendable_arguments(call.arguments));
    blocks.push_back({{"type", "tool_use"},
                      {"id", ids.of_call(call.id)},
                      {"name", sendable_name(call.tool)},
                      {"input", input ? std::move(*input) : Json::object()}});
  }
  if (message.text.empty() && message.calls.empty()) blocks.push_back(text_block(kNoText));
  return blocks;
}

struct Conversation {
  std::string system;
  Json messages = Json::array();

  /// The format wants the two roles in turns: what follows on its own kind joins it.
  void add(const char* role, Json blocks) {
    if (messages.empty() || messages.back()["role"] != role) {
      messages.push_back({{"role", role}, {"content", std::move(blocks)}});
      return;
    }
    for (Json& block : blocks) messages.back()["content"].push_back(std::move(block));
  }
};

Conversation conversation_of(const std::vector<Message>& history, const Features& features) {
  Conversation conversation;
  CallIds ids;
  for (const Message& message : history) {
    switch (message.role) {
      case Role::kSystem:
        conversation.system += (conversation.system.empty() ? "" : "\n\n") + message.text;
        break;
      case Role::kUser:
        conversation.add("user", Json::array({text_block(message.text.empty() ? kNoText : message.text)}));
        break;
      case Role::kModel:
        conversation.add("assistant", model_blocks(message, features, ids));
        break;
      case Role::kTool:
        conversation.add("user", Json::array({result_block(message, ids)}));
        break;
    }
  }
  // A mark for the cache of prompts: all up to here will be sent again with the next turn.
  if (!conversation.messages.empty() && conversation.messages.back()["role"] == "user") {
    conversation.messages.back()["content"].back()["cache_control"] = {{"type", "ephemeral"}};
  }
  return conversation;
}

Json tools_of(const std::vector<ToolSpec>& tools) {
  Json list = Json::array();
  for (const ToolSpec& tool : tools) {
    list.push_back(
        {{"name", tool.name}, {"description", tool.description}, {"input_schema", parse_own_json(tool.parameters)}});
  }
  return list;
}

// ---- response

/// `usage` may come in parts; what a part does not name stays.
void take_usage(const Json& json, Usage& usage, int64_t& fresh) {
  if (!json.is_object()) return;
  const auto read = [&](const char* key, int64_t& value) {
    if (at(json, key).is_number_integer()) value = at(json, key).get<int64_t>();
  };
  int64_t written = usage.input - fresh - usage.cached;
  read("input_tokens", fresh);
  read("cache_read_input_tokens", usage.cached);
  read("cache_creation_input_tokens", written);
  read("output_tokens", usage.output);
  usage.input = fresh + usage.cached + written;
  usage.known = usage.known || at(json, "input_tokens").is_number_integer();
}

class AnthropicReader : public DraftReader {
 public:
  void take_event(const net::SseEvent& event) override {
    if (complete_) return;
    const auto json = parse_foreign(event.data);
    if (!json) return fail({Failure::kCutStream, "an event of the stream is " + json.error().text()});
    const std::string type = text_at(*json, "type");
    if (type == "message_start") {
      take_usage(at(at(*json, "message"), "usage"), draft_.usage, fresh_);
    } else if (type == "content_block_start") {
      blocks_[number_at(*json, "index")] = {at(*json, "content_block"), ""};
    } else if (type == "content_block_delta") {
      take_delta(blocks_[number_at(*json, "index")], at(*json, "delta"));
    } else if (type == "message_delta") {
      take_usage(at(*json, "usage"), draft_.usage, fresh_);
      take_stop(text_at(at(*json, "delta"), "stop_reason"));
    } else if (type == "message_stop") {
      draft_.ended = complete_ = true;
    } else if (const auto error = error_of_json(*json)) {
      fail(*error);
    }
  }

  void take_body(const Json& body) override {
    if (const auto error = error_of_json(body)) return fail(*error);
    if (!at(body, "content").is_array()) {
      return fail({Failure::kCutStream, "the response holds no content: is this a messages endpoint?"});
    }
    for (const Json& block : body["content"]) blocks_[static_cast<int64_t>(blocks_.size())] = {block, ""};
    take_usage(at(body, "usage"), draft_.usage, fresh_);
    take_stop(text_at(body, "stop_reason"));
    draft_.ended = complete_ = true;
  }

  bool complete() const override { return complete_; }

  Draft take_draft() override {
    Json thinking = Json::array();
    bool called = false;
    for (auto& [index, block] : blocks_) {
      const std::string type = text_at(block.json, "type");
      if (type == "text") {
        if (called && !text_at(block.json, "text").empty()) draft_.events.emplace_back("text came after a call");
        draft_.text += text_at(block.json, "text");
      } else if (type == "tool_use") {
        const Json& input = at(block.json, "input");
        const bool streamed = !block.arguments.empty() || input.is_null();
        draft_.calls.push_back(
            {text_at(block.json, "id"), text_at(block.json, "name"), streamed ? block.arguments : dump(input)});
        called = true;
      } else if (type == "thinking" || type == "redacted_thinking") {
        draft_.reasoning += text_at(block.json, "thinking");
        thinking.push_back(block.json);
      } else {
        draft_.events.push_back(fmt::format("a block of type \"{}\" was passed over", type.substr(0, 40)));
      }
    }
    if (!thinking.empty()) draft_.echo = dump(thinking);
    return std::move(draft_);
  }

 private:
  struct Block {
    Json json;
    std::string arguments;  ///< of a tool_use, as its pieces come
  };

  void fail(const WireError& error) {
    draft_.error = error;
    draft_.ended = complete_ = true;
  }

  static void take_delta(Block& block, const Json& delta) {
    block.arguments += text_at(delta, "partial_json");
    for (const auto& [key, type] : {std::pair{"text", "text"}, {"thinking", "thinking"}, {"signature", "thinking"}}) {
      const std::string piece = text_at(delta, key);
      if (piece.empty()) continue;
      // A delta of a block whose start was lost tells its type.
      if (!block.json.is_object()) block.json = {{"type", type}};
      block.json[key] = text_at(block.json, key) + piece;
    }
  }

  void take_stop(const std::string& reason) {
    if (reason.empty()) return;
    draft_.ended = true;
    if (reason == "end_turn" || reason == "stop_sequence" || reason == "pause_turn") {
      draft_.finish = Finish::kStop;
    } else if (reason == "tool_use") {
      draft_.finish = Finish::kToolCalls;
    } else if (reason == "max_tokens") {
      draft_.finish = Finish::kLength;
    } else if (reason == "refusal") {
      draft_.finish = Finish::kRefusal;
    } else if (reason == "model_context_window_exceeded") {
      draft_.context_full = true;
    } else {
      draft_.events.push_back("the reply ended for an unknown reason: " + reason.substr(0, 80));
    }
  }

  Draft draft_;
  bool complete_ = false;
  int64_t fresh_ = 0;  ///< input tokens that no cache held
  std::map<int64_t, Block> blocks_;
};

class AnthropicWire : public Wire {
 public:
  std::string request(const std::vector<Message>& history, const std::vector<ToolSpec>& tools, const Sampling& sampling,
                      const Features& features) const override {
    Conversation conversation = conversation_of(history, features);
    Json json = {{"model", sampling.model}, {"max_tokens", sampling.max_tokens.value_or(kDefaultMaxTokens)}};
    if (!conversation.system.empty()) json["system"] = conversation.system;
    if (!tools.empty()) json["tools"] = tools_of(tools);
    json["messages"] = std::move(conversation.messages);
    if (sampling.temperature) json["temperature"] = *sampling.temperature;
    json["stream"] = features.stream;
    json.update(parse_own_json(sampling.extra));
    return dump(json);
  }

  std::unique_ptr<DraftReader> reader() const override { return std::make_unique<AnthropicReader>(); }
};

}  // namespace

std::unique_ptr<Wire> make_anthropic_wire() { return std::make_unique<AnthropicWire>(); }

}  // namespace ww::agent
