// SPDX-License-Identifier: Apache-2.0
#include "agent/text_calls.h"

#include <algorithm>
#include <array>

#include "agent/arguments.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr std::string_view kCallOpen = "<tool_call>", kCallClose = "</tool_call>";
constexpr std::string_view kFunctionOpen = "<function=", kFunctionClose = "</function>";
constexpr std::string_view kParameterOpen = "<parameter=", kParameterClose = "</parameter>";
constexpr std::string_view kMistral = "[TOOL_CALLS]", kPythonTag = "<|python_tag|>";
constexpr std::array kMarkup = {kCallOpen, kFunctionOpen, kMistral, kPythonTag};

using Calls = std::optional<std::vector<DraftCall>>;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// Takes `open` ... `close` off the front of `text` and returns what is between. None: `text` does not begin so.
std::optional<std::string_view> take_between(std::string_view& text, std::string_view open, std::string_view close) {
  if (!text.starts_with(open)) return std::nullopt;
  const size_t end = text.find(close, open.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = text.substr(open.size(), end - open.size());
  text = trimmed(text.substr(end + close.size()));
  return inside;
}

const ToolSpec* find_tool(const std::vector<ToolSpec>& tools, std::string_view name) {
  const auto found = std::find_if(tools.begin(), tools.end(), [&](const ToolSpec& tool) { return tool.name == name; });
  return found == tools.end() ? nullptr : &*found;
}

/// {"name": ..., "arguments" or "parameters": {...}} and nothing else that matters.
std::optional<DraftCall> json_call(const Json& json, const std::vector<ToolSpec>& tools) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return std::nullopt;
  if (find_tool(tools, json["name"].get<std::string>()) == nullptr) return std::nullopt;
  for (const char* key : {"arguments", "parameters"}) {
    if (!json.contains(key)) continue;
    const Json& value = json[key];
    const Arguments arguments = read_arguments(value.is_string() ? value.get<std::string>() : value.dump());
    if (arguments.state != ArgumentsState::kWhole) return std::nullopt;
    return DraftCall{.tool = json["name"], .arguments = arguments.text};
  }
  return std::nullopt;
}

/// One object, or an array of them.
Calls json_calls(std::string_view text, const std::vector<ToolSpec>& tools) {
  const auto json = parse_foreign(text);
  if (!json) return std::nullopt;
  std::vector<DraftCall> calls;
  for (const Json& each : json->is_array() ? *json : Json::array({*json})) {
    auto call = json_call(each, tools);
    if (!call) return std::nullopt;
    calls.push_back(std::move(*call));
  }
  return calls.empty() ? Calls() : calls;
}

/// A parameter in markup has no quotes: what type it is, the tool's schema says.
Json typed_value(std::string_view text, const Json& property) {
  if (property.is_object() && property.value("type", Json()) == "string") return std::string(text);
  const auto parsed = parse_foreign(text);
  return parsed ? *parsed : Json(std::string(text));
}

/// `text`: NAME>...  up to </function>, where ... is a JSON object or <parameter=KEY>value</parameter> each.
std::optional<DraftCall> function_call(std::string_view text, const std::vector<ToolSpec>& tools) {
  const size_t end = text.find('>');
  if (end == std::string_view::npos) return std::nullopt;
  const ToolSpec* tool = find_tool(tools, trimmed(text.substr(0, end)));
  if (tool == nullptr) return std::nullopt;
  std::string_view body = trimmed(text.substr(end + 1));
  if (!body.starts_with(kParameterOpen)) {
    const Arguments arguments = read_arguments(body);
    if (arguments.state != ArgumentsState::kWhole) return std::nullopt;
    return DraftCall{.tool = tool->name, .arguments = arguments.text};
  }
  const auto schema = parse_foreign(tool->parameters);
  const Json properties = schema && schema->is_object() ? schema->value("properties", Json::object()) : Json::object();
  Json arguments = Json::object();
  while (const auto parameter = take_between(body, kParameterOpen, kParameterClose)) {
    const size_t close = parameter->find('>');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string key(parameter->substr(0, close));
    std::string_view value = parameter->substr(close + 1);
    // The markup puts the value on lines of its own.
    if (value.starts_with('\n')) value.remove_prefix(1);
    if (value.ends_with('\n')) value.remove_suffix(1);
    arguments[key] = typed_value(value, properties.value(key, Json()));
  }
  if (!body.empty()) return std::nullopt;
  return DraftCall{.tool = tool->name, .arguments = arguments.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

/// All of `text`, which begins with markup.
Calls tagged_calls(std::string_view text, const std::vector<ToolSpec>& tools) {
  if (text.starts_with(kMistral)) return json_calls(trimmed(text.substr(kMistral.size())), tools);
  if (text.starts_with(kPythonTag)) return json_calls(trimmed(text.substr(kPythonTag.size())), tools);
  std::vector<DraftCall> calls;
  while (!text.empty()) {
    auto inside = take_between(text, kCallOpen, kCallClose);
    std::optional<std::string_view> function;
    if (inside) {
      std::string_view body = trimmed(*inside);
      function = take_between(body, kFunctionOpen, kFunctionClose);
      if (function && !body.empty()) return std::nullopt;
    } else {
      function = take_between(text, kFunctionOpen, kFunctionClose);
      // Qwen's coders often leave out the opening <tool_call> and still write the closing one.
      if (function && text.starts_with(kCallClose)) text = trimmed(text.substr(kCallClose.size()));
    }
    if (function) {
      auto call = function_call(*function, tools);
      if (!call) return std::nullopt;
      calls.push_back(std::move(*call));
    } else {
      if (!inside) return std::nullopt;
      auto several = json_calls(trimmed(*inside), tools);
      if (!several) return std::nullopt;
      calls.insert(calls.end(), several->begin(), several->end());
    }
  }
  return calls;
}

size_t find_markup(std::string_view text) {
  size_t first = std::string_view::npos;
  for (const std::string_view markup : kMarkup) first = std::min(first, text.find(markup));
  return first;
}

/// An example within a code block is no call.
bool in_fence(std::string_view before) {
  int fences = 0;
  for (size_t at = before.find("```"); at != std::string_view::npos; at = before.find("```", at + 3)) fences++;
  return fences % 2 == 1;
}

/// The whole of a text that is one code block.
std::string_view fenced(std::string_view text) {
  const size_t line = text.find('\n');
  if (!text.starts_with("```") || !text.ends_with("```") || line == std::string_view::npos) return {};
  const std::string_view inside = text.substr(line + 1, text.size() - line - 4);
  return inside.find("```") == std::string_view::npos ? trimmed(inside) : std::string_view();
}

}  // namespace

std::optional<TextCalls> read_text_calls(std::string_view text, const std::vector<ToolSpec>& tools) {
  text = trimmed(text);
  for (const std::string_view end : {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>"}) {
    if (text.ends_with(end)) text = trimmed(text.substr(0, text.size() - end.size()));
  }
  const size_t at = find_markup(text);
  if (at != std::string_view::npos) {
    if (in_fence(text.substr(0, at))) return std::nullopt;
    auto calls = tagged_calls(text.substr(at), tools);
    if (!calls) return std::nullopt;
    return TextCalls{std::move(*calls), std::string(trimmed(text.substr(0, at)))};
  }
  const std::string_view inside = fenced(text);
  auto calls = json_calls(inside.empty() ? text : inside, tools);
  if (!calls) return std::nullopt;
  return TextCalls{std::move(*calls), ""};
}

bool has_call_markup(std::string_view text) { return find_markup(text) != std::string_view::npos; }

}  // namespace ww::agent
