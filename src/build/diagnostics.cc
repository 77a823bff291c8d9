// SPDX-License-Identifier: Apache-2.0
#include "build/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/files.h"

namespace ww::build {
namespace {

constexpr size_t kLongestLine = 240;
/// Of one error with its excerpt and notes: the second error helps more than the fifth candidate for the first.
constexpr size_t kLinesPerError = 10;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool contains(std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; }

bool reports_error(std::string_view line) {
  if (line.starts_with("collect2:")) return false;  // only says that there were errors
  return contains(line, " error: ") || contains(line, ": Error: ") || contains(line, "undefined reference") ||
         contains(line, "multiple definition");
}

bool leads_to_error(std::string_view line) { return contains(line, ": In ") || contains(line, ": in function "); }

/// The source excerpt and the notes below a warning belong to it.
bool begins_warning(std::string_view line) { return contains(line, " warning: "); }
bool continues_remark(std::string_view line) { return line.starts_with(' ') || contains(line, " note: "); }

std::string cut_line(std::string_view line) {
  std::string text = printable(line.substr(0, kLongestLine));
  if (line.size() > kLongestLine) text += " ...";
  return text;
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const std::string_view character = bytes.substr(i, length);
    const bool control = (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7f;
    // C1 control characters move terminals too.
    const bool c1 = lead == 0xc2 && character.size() == 2 && static_cast<unsigned char>(character[1]) < 0xa0;
    if (control || c1 || !is_utf8(character)) {
      text += '?';
      length = c1 ? 2 : 1;
    } else {
      text += character;
    }
    i += length;
  }
  return text;
}

Diagnostics shorten(std::string_view output, bool cut, size_t limit_bytes, size_t error_limit) {
  Diagnostics result;
  bool in_warning = false, full = false;
  size_t lines_left = kLinesPerError;
  for (const std::string_view line : lines_of(output)) {
    const bool error = reports_error(line);
    result.errors += error;
    if (begins_warning(line)) {
      in_warning = true;
    } else if (error || !continues_remark(line)) {
      in_warning = false;
    }
    if (error || leads_to_error(line)) lines_left = kLinesPerError;
    if (in_warning || full || lines_left == 0) continue;
    lines_left--;
    const std::string shown = cut_line(line);
    full = result.text.size() + shown.size() + 1 > limit_bytes;
    if (!full) result.text += shown + "\n";
  }
  if (full || cut || result.errors > 1) {
    result.text += fmt::format("{}{} error{} in all\n", cut || result.errors >= error_limit ? "at least " : "",
                               result.errors, result.errors == 1 ? "" : "s");
  }
  return result;
}

}  // namespace ww::build
