// SPDX-License-Identifier: Apache-2.0
#include "agent/text_tools.h"

#include <fmt/format.h>

#include "agent/arguments.h"
#include "agent/wire.h"
#include "base/json.h"

namespace ww::agent {
namespace {

std::string call_text(const ToolCall& call) {
  return fmt::format("<tool_call>\n{{\"name\": {}, \"arguments\": {}}}\n</tool_call>", dump(call.tool),
                     sendable_arguments(call.arguments));
}

std::string description_of(const std::vector<ToolSpec>& tools) {
  std::string text =
      "You work with tools. To use one, end your reply with a call in exactly this form, and write nothing after it:\n";
  text +=
      "<tool_call>\n{\"name\": \"TOOL\", \"arguments\": {...}}\n</tool_call>\nThe tools, with the JSON schema of their "
      "arguments:\n";
  for (const ToolSpec& tool : tools) {
    text +=
        dump(Json{
            {"name", tool.name}, {"description", tool.description}, {"arguments", parse_own_json(tool.parameters)}}) +
        "\n";
  }
  return text;
}

}  // namespace

std::vector<Message> tools_as_text(const std::vector<Message>& history, const std::vector<ToolSpec>& tools) {
  std::vector<Message> plain = {{.role = Role::kSystem, .text = description_of(tools)}};
  // Templates of small models want user and model in turns.
  const auto add = [&](Role role, const std::string& text) {
    if (plain.back().role == role) {
      plain.back().text += "\n\n" + text;
    } else {
      plain.push_back({.role = role, .text = text});
    }
  };
  for (const Message& message : history) {
    switch (message.role) {
      case Role::kSystem:
      case Role::kUser:
        add(message.role, message.text);
        break;
      case Role::kModel: {
        std::string text = message.text;
        for (const ToolCall& call : message.calls) text += (text.empty() ? "" : "\n") + call_text(call);
        add(Role::kModel, text);
        break;
      }
      case Role::kTool:
        add(Role::kUser, fmt::format("<tool_response>\n{}\n</tool_response>", message.text));
        break;
    }
  }
  return plain;
}

}  // namespace ww::agent
