// SPDX-License-Identifier: Apache-2.0
//
// Tool calls that a model wrote as text, because the model is small or the server does not know its markup. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/draft.h"

namespace ww::agent {

struct TextCalls {
  std::vector<DraftCall> calls;
  std::string text;  ///< what stood before them
};

/// The calls, where there is one reading only: known markup (<tool_call>, <function=...>, [TOOL_CALLS],
/// <|python_tag|>) or a reply that is one JSON object with "name" and "arguments", in a code fence or not; every call
/// names one of `tools` and has an object of arguments; nothing stands between them or after the last.
std::optional<TextCalls> read_text_calls(std::string_view text, const std::vector<ToolSpec>& tools);

/// True if the text holds the beginning of such markup.
bool has_call_markup(std::string_view text);

}  // namespace ww::agent
