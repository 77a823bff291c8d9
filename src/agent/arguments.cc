// SPDX-License-Identifier: Apache-2.0
#include "agent/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace ww::agent {
namespace {

constexpr int kDeepest = 256;

struct Shape {
  int deepest = 0;
  bool open = false;  ///< ends within a string, an object or an array
};

/// Looks at quotes and brackets alone.
Shape shape_of(std::string_view text) {
  Shape shape;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') i++;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      shape.deepest = std::max(shape.deepest, ++depth);
    } else if (c == '}' || c == ']') {
      depth--;
    }
  }
  shape.open = in_string || depth > 0;
  return shape;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// What is between ``` or ```json and ```, or the text itself.
std::string_view without_fence(std::string_view text) {
  if (!text.starts_with("```")) return text;
  const size_t line = text.find('\n');
  if (line == std::string_view::npos) return text;
  text.remove_prefix(line + 1);
  if (text.ends_with("```")) text.remove_suffix(3);
  return trimmed(text);
}

/// Control characters within strings, which JSON forbids, in the form that it has for them.
std::string with_escapes(std::string_view text) {
  std::string escaped;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); i++) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (in_string && c < ' ') {
      escaped += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : fmt::format("\\u{:04x}", c);
      continue;
    }
    escaped += text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) escaped += text[++i];
    if (c == '"') in_string = !in_string;
  }
  return escaped;
}

}  // namespace

Result<Json> parse_foreign(std::string_view text) {
  if (shape_of(text).deepest > kDeepest) return Error{fmt::format("nested deeper than {}", kDeepest), ""};
  return parse_json(text, "");
}

Arguments read_arguments(std::string_view written) {
  const std::string_view inside = without_fence(trimmed(written));
  std::string text(inside);
  std::string note = inside.size() == trimmed(written).size() ? "" : "arguments stood in a code fence";
  if (text.empty()) return {ArgumentsState::kWhole, "{}", note};
  auto parsed = parse_foreign(text);
  if (!parsed) {
    text = with_escapes(text);
    parsed = parse_foreign(text);
    if (parsed) note = "arguments had raw control characters in a string";
  }
  for (int level = 0; parsed && parsed->is_string() && level < 3; level++) {
    text = parsed->get<std::string>();
    note = "arguments were double-encoded JSON";
    parsed = parse_foreign(text);
  }
  if (parsed && parsed->is_null()) return {ArgumentsState::kWhole, "{}", note};
  if (parsed && parsed->is_object()) return {ArgumentsState::kWhole, text, note};
  const bool cut = !parsed && shape_of(text).open;
  return {cut ? ArgumentsState::kCut : ArgumentsState::kBroken, std::string(written)};
}

std::string sendable_arguments(const std::string& arguments) {
  const std::string_view text = trimmed(arguments);
  if (text.starts_with('{') && Json::accept(text) && shape_of(text).deepest <= kDeepest) return arguments;
  return Json{{"malformed_arguments", arguments}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ww::agent
