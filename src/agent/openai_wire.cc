// SPDX-License-Identifier: Apache-2.0
//
// Chat completions as OpenAI defined them and as the servers that call themselves compatible speak them.
#include <algorithm>
#include <array>

#include "agent/arguments.h"
#include "agent/endpoint_error.h"
#include "agent/wire.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr std::array kReasoningFields = {"reasoning_content", "reasoning"};

// ---- request

void put_content(Json& message, const std::string& text, EmptyContent empty) {
  if (!text.empty()) {
    message["content"] = text;
  } else if (empty == EmptyContent::kNull) {
    message["content"] = nullptr;
  } else if (empty == EmptyContent::kEmpty) {
    message["content"] = "";
  }
}

/// Reply::echo of this format: members of the message, where null stands for the reasoning's text and
/// "call_fields" is a list of members of each call.
void put_echo(Json& json, const Message& message) {
  if (message.echo.empty()) return;
  const auto echo = parse_foreign(message.echo);
  if (!echo || !echo->is_object()) return;
  for (const auto& [key, value] : echo->items()) {
    if (key != "call_fields") {
      json[key] = value.is_null() ? Json(message.reasoning) : value;
      continue;
    }
    for (size_t i = 0; value.is_array() && i < std::min(value.size(), message.calls.size()); i++) {
      if (value[i].is_object()) json["tool_calls"][i].update(value[i]);
    }
  }
}

Json model_message(const Message& message, const Features& features, CallIds& ids) {
  Json json = {{"role", "assistant"}};
  if (message.calls.empty()) {
    json["content"] = message.text.empty() ? kNoText : message.text;
  } else {
    put_content(json, message.text, features.empty);
    for (const ToolCall& call : message.calls) {
      json["tool_calls"].push_back(
          {{"id", ids.of_call(call.id)},
           {"type", "function"},
           {"function", {{"name", sendable_name(call.tool)}, {"arguments", sendable_arguments(call.arguments)}}}});
    }
  }
  if (features.reasoning_back) put_echo(json, message);
  return json;
}

Json messages_of(const std::vector<Message>& history, const Features& features) {
  Json messages = Json::array();
  CallIds ids;
  for (const Message& message : history) {
    switch (message.role) {
      case Role::kSystem:
        messages.push_back({{"role", "system"}, {"content", message.text}});
        break;
      case Role::kUser:
        messages.push_back({{"role", "user"}, {"content", message.text}});
        break;
      case Role::kModel:
        messages.push_back(model_message(message, features, ids));
        break;
      case Role::kTool:
        messages.push_back(
            {{"role", "tool"}, {"tool_call_id", ids.of_answer(message.call.id)}, {"content", message.text}});
        break;
    }
  }
  return messages;
}

Json tools_of(const std::vector<ToolSpec>& tools) {
  Json list = Json::array();
  for (const ToolSpec& tool : tools) {
    list.push_back(
        {{"type", "function"},
         {"function",
          {{"name", tool.name}, {"description", tool.description}, {"parameters", parse_own_json(tool.parameters)}}}});
  }
  return list;
}

// ---- response

/// "content" is text, null or a list of parts.
void take_content(const Json& content, Draft& draft) {
  if (content.is_string()) draft.text += content.get<std::string>();
  if (!content.is_array()) return;
  for (const Json& part : content) {
    draft.text += text_at(part, "text");
    draft.reasoning += text_at(part, "thinking");
    const Json& thinking = at(part, "thinking");
    if (!thinking.is_array()) continue;
    for (const Json& each : thinking) draft.reasoning += text_at(each, "text");
  }
}

Usage usage_of(const Json& json) {
  Usage usage;
  usage.input = number_at(json, "prompt_tokens");
  usage.output = number_at(json, "completion_tokens");
  usage.cached = number_at(at(json, "prompt_tokens_details"), "cached_tokens");
  if (usage.cached == 0) usage.cached = number_at(json, "prompt_cache_hit_tokens");
  usage.known = at(json, "prompt_tokens").is_number_integer();
  return usage;
}

std::optional<Finish> finish_of(const std::string& reason) {
  if (reason == "stop") return Finish::kStop;
  if (reason == "tool_calls" || reason == "function_call") return Finish::kToolCalls;
  if (reason == "length") return Finish::kLength;
  if (reason == "content_filter") return Finish::kRefusal;
  return std::nullopt;
}

/// A call as its pieces come in.
struct CallPieces {
  std::optional<int64_t> index;
  std::string id, tool, arguments;
  Json fields = Json::object();  ///< members that are to be sent back

  bool whole() const { return !arguments.empty() && read_arguments(arguments).state == ArgumentsState::kWhole; }
};

class CallMerger {
 public:
  /// One element of "tool_calls". Merged by id, then by index, then by order: servers repeat an index for different
  /// calls, repeat an id, leave out either, and send the pieces of several calls in turns.
  void take(const Json& piece) {
    const Json& function = at(piece, "function");
    CallPieces came;
    came.id = text_at(piece, "id");
    if (at(piece, "index").is_number_integer()) came.index = at(piece, "index").get<int64_t>();
    came.tool = text_at(function, "name");
    const Json& arguments = at(function, "arguments");
    // Some servers give the object itself.
    came.arguments = arguments.is_string() ? arguments.get<std::string>() : arguments.is_null() ? "" : dump(arguments);
    if (!at(piece, "extra_content").is_null()) came.fields["extra_content"] = at(piece, "extra_content");
    CallPieces* call = find(came);
    if (call == nullptr || begins_another(*call, came)) {
      calls_.push_back(std::move(came));
    } else {
      add(*call, std::move(came));
    }
  }

  /// Returns what is to be sent back of each call, [] where that is nothing.
  Json give(Draft& draft) {
    order();
    Json fields = Json::array();
    bool any = false;
    for (CallPieces& call : calls_) {
      draft.calls.push_back({std::move(call.id), std::move(call.tool), std::move(call.arguments)});
      any = any || !call.fields.empty();
      fields.push_back(std::move(call.fields));
    }
    return any ? fields : Json::array();
  }

 private:
  CallPieces* find(const CallPieces& came) {
    const auto last = [&](auto&& matches) -> CallPieces* {
      const auto found = std::find_if(calls_.rbegin(), calls_.rend(), matches);
      return found == calls_.rend() ? nullptr : &*found;
    };
    if (!came.id.empty()) {
      CallPieces* same = last([&](const CallPieces& call) { return call.id == came.id && call.index == came.index; });
      if (same == nullptr) same = last([&](const CallPieces& call) { return call.id == came.id; });
      if (same != nullptr) return same;
      // A first piece may have come without the id.
      return last([&](const CallPieces& call) { return call.id.empty() && came.index && call.index == came.index; });
    }
    if (came.index) return last([&](const CallPieces& call) { return call.index == came.index; });
    return calls_.empty() ? nullptr : &calls_.back();
  }

  /// A piece that names a tool while the call it would go to is named differently or already complete.
  static bool begins_another(const CallPieces& call, const CallPieces& came) {
    if (came.tool.empty() || call.tool.empty()) return false;
    const bool elsewhere = came.index && call.index && came.index != call.index;
    return elsewhere || came.tool != call.tool || (call.whole() && !came.arguments.empty());
  }

  static void add(CallPieces& call, CallPieces came) {
    if (call.id.empty()) call.id = std::move(came.id);
    if (call.tool.empty()) call.tool = std::move(came.tool);
    // The empty object that some servers send ahead of the pieces.
    if (call.arguments == "{}" && came.arguments.starts_with('{')) call.arguments.clear();
    call.arguments += came.arguments;
    call.fields.update(came.fields);
  }

  /// By index where every call has one of its own.
  void order() {
    std::set<int64_t> indexes;
    for (const CallPieces& call : calls_) {
      if (!call.index || !indexes.insert(*call.index).second) return;
    }
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const CallPieces& a, const CallPieces& b) { return *a.index < *b.index; });
  }

  std::vector<CallPieces> calls_;
};

class OpenaiReader : public DraftReader {
 public:
  void take_event(const net::SseEvent& event) override {
    if (complete_) return;
    if (event.data == "[DONE]") return end();
    const auto json = parse_foreign(event.data);
    if (!json) {
      draft_.error = WireError{Failure::kCutStream, "an event of the stream is " + json.error().text()};
      return end();
    }
    if (auto error = error_of_json(*json)) {
      draft_.error = std::move(error);
      return end();
    }
    take(*json, "delta");
  }

  void take_body(const Json& body) override {
    draft_.error = error_of_json(body);
    if (!draft_.error && at(body, "choices").empty()) {
      draft_.error =
          WireError{Failure::kCutStream, "the response holds no choices: is this a chat completions endpoint?"};
    }
    if (!draft_.error) take(body, "message");
    end();
  }

  bool complete() const override { return complete_; }

  Draft take_draft() override {
    const Json fields = calls_.give(draft_);
    if (!fields.empty()) echo_["call_fields"] = fields;
    if (!echo_.empty()) draft_.echo = dump(echo_);
    return std::move(draft_);
  }

 private:
  void take(const Json& json, const char* member) {
    if (at(json, "usage").is_object()) {
      draft_.usage = usage_of(at(json, "usage"));
      if (at(at(json, "usage"), "cost").is_number()) draft_.cost_usd = at(at(json, "usage"), "cost").get<double>();
    }
    for (const Json& id : at(json, "prompt_token_ids")) draft_.tokens.prompt.push_back(token(id));
    const Json& choices = at(json, "choices");
    if (!choices.is_array() || choices.empty()) return;
    const Json& choice = choices[0];
    take_message(at(choice, member).is_null() ? at(choice, "message") : at(choice, member));
    for (const Json& id : at(choice, "token_ids")) draft_.tokens.output.push_back(token(id));
    for (const Json& each : at(at(choice, "logprobs"), "content")) {
      const Json& value = at(each, "logprob");
      if (value.is_number()) draft_.tokens.logprobs.push_back(value.get<float>());
    }
    const std::string reason = text_at(choice, "finish_reason");
    if (reason.empty()) return;
    draft_.finish = finish_of(reason);
    draft_.ended = true;
    if (!draft_.finish) draft_.events.push_back("the reply ended for an unknown reason: " + reason.substr(0, 80));
  }

  static int32_t token(const Json& id) { return id.is_number_integer() ? id.get<int32_t>() : -1; }

  void take_message(const Json& message) {
    const bool called = had_calls_;
    const size_t before = draft_.text.size();
    take_content(at(message, "content"), draft_);
    if (called && draft_.text.size() > before && !text_after_) {
      draft_.events.emplace_back("text came after a call");
      text_after_ = true;
    }
    for (const char* field : kReasoningFields) {
      const std::string text = text_at(message, field);
      if (text.empty()) continue;
      draft_.reasoning += text;
      echo_[field] = nullptr;
      break;  // servers in transition send the same text under both names
    }
    const Json& details = at(message, "reasoning_details");
    if (details.is_array()) {
      for (const Json& each : details) echo_["reasoning_details"].push_back(each);
    }
    draft_.refusal += text_at(message, "refusal");
    const Json& calls = at(message, "tool_calls");
    if (!calls.is_array()) return;
    for (const Json& call : calls) calls_.take(call);
    had_calls_ = had_calls_ || !calls.empty();
  }

  void end() {
    complete_ = true;
    const bool any = !draft_.text.empty() || had_calls_;
    if (!draft_.ended && any && !draft_.error) draft_.events.emplace_back("the reply ended without saying why");
    draft_.ended = true;
  }

  Draft draft_;
  bool complete_ = false;
  CallMerger calls_;
  Json echo_ = Json::object();
  bool had_calls_ = false;
  bool text_after_ = false;
};

class OpenaiWire : public Wire {
 public:
  std::string request(const std::vector<Message>& history, const std::vector<ToolSpec>& tools, const Sampling& sampling,
                      const Features& features) const override {
    Json json = {{"model", sampling.model}, {"messages", messages_of(history, features)}};
    if (!tools.empty()) json["tools"] = tools_of(tools);
    if (sampling.temperature) json["temperature"] = *sampling.temperature;
    if (sampling.max_tokens) {
      json[features.completion_limit ? "max_completion_tokens" : "max_tokens"] = *sampling.max_tokens;
    }
    json["stream"] = features.stream;
    if (features.stream && features.stream_usage) json["stream_options"] = {{"include_usage", true}};
    if (sampling.token_ids) {
      json["logprobs"] = true;
      json["return_token_ids"] = true;
    }
    json.update(parse_own_json(sampling.extra));
    return dump(json);
  }

  std::unique_ptr<DraftReader> reader() const override { return std::make_unique<OpenaiReader>(); }
};

}  // namespace

std::unique_ptr<Wire> make_openai_wire() { return std::make_unique<OpenaiWire>(); }

}  // namespace ww::agent
