// SPDX-License-Identifier: Apache-2.0
#include "agent/probe.h"

#include <fmt/format.h>

namespace ww::agent {
namespace {

const std::vector<Message>& greeting() {
  static const std::vector<Message> history = {{.role = Role::kUser, .text = "Say ok."}};
  return history;
}

const std::vector<ToolSpec>& one_tool() {
  static const std::vector<ToolSpec> tools = {
      {"say", "Says a word.", R"({"type":"object","properties":{"word":{"type":"string"}},"required":["word"]})"}};
  return tools;
}

/// A finished call of a reply that had no text.
std::vector<Message> called(const std::string& echo) {
  const ToolCall call{"call_1", "say", R"({"word":"ok"})"};
  return {greeting()[0],
          {.role = Role::kModel, .calls = {call}, .reasoning = "I say ok.", .echo = echo},
          {.role = Role::kTool, .text = "said", .call = call, .data = "{}"}};
}

/// One probe after the other, over as soon as an answer is unknown.
class Probing {
 public:
  Probing(const SmallRequest& ask, const Features& wanted) : ask_(ask), wanted_(wanted) {
    found_ = {.stream = false,
              .stream_usage = false,
              .tools = false,
              .completion_limit = wanted.completion_limit,
              .reasoning_back = false,
              .empty = wanted.empty};
  }

  std::optional<Features> operator()() {
    if (!find_limit()) return std::nullopt;
    if (wanted_.stream) add(&Features::stream, greeting(), {});
    if (found_.stream) add(&Features::stream_usage, greeting(), {});
    add(&Features::tools, greeting(), one_tool());
    if (found_.tools) find_empty();
    if (found_.tools) add(&Features::reasoning_back, called(R"({"reasoning_content":null})"), one_tool());
    if (unknown_) return std::nullopt;
    return found_;
  }

 private:
  bool takes(const Features& features, const std::vector<Message>& history, const std::vector<ToolSpec>& tools) {
    if (unknown_) return false;
    const Taken taken = ask_(history, tools, features);
    unknown_ = taken == Taken::kUnknown;
    return taken == Taken::kYes;
  }

  /// The plainest request, with the limit under either name.
  bool find_limit() {
    if (takes(found_, greeting(), {})) return true;
    found_.completion_limit = !found_.completion_limit;
    return takes(found_, greeting(), {});
  }

  void add(bool Features::*feature, const std::vector<Message>& history, const std::vector<ToolSpec>& tools) {
    Features features = found_;
    features.*feature = true;
    if (takes(features, history, tools)) found_ = features;
  }

  void find_empty() {
    for (const EmptyContent form : {EmptyContent::kNull, EmptyContent::kEmpty, EmptyContent::kAbsent}) {
      Features features = found_;
      features.empty = form;
      if (!takes(features, called(""), one_tool())) continue;
      found_ = features;
      return;
    }
  }

  const SmallRequest& ask_;
  const Features& wanted_;
  Features found_;
  bool unknown_ = false;
};

}  // namespace

std::optional<Features> probe_features(const SmallRequest& ask, const Features& wanted) {
  return Probing(ask, wanted)();
}

std::string describe(const Features& features) {
  const auto has = [](bool yes, const char* what) { return fmt::format("{}{}", yes ? "" : "no ", what); };
  constexpr const char* kEmpty[] = {"null", "\"\"", "no member"};
  return fmt::format("{}, {}, {}, limit as {}, no text as {}, {}", has(features.stream, "streams"),
                     has(features.stream_usage, "usage in streams"), has(features.tools, "tools"),
                     features.completion_limit ? "max_completion_tokens" : "max_tokens",
                     kEmpty[static_cast<int>(features.empty)], has(features.reasoning_back, "reasoning sent back"));
}

}  // namespace ww::agent
