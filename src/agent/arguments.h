// SPDX-License-Identifier: Apache-2.0
//
// The arguments of tool calls as models write them: JSON text that may be cut, broken or encoded twice.
#pragma once

#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ww::agent {

enum class ArgumentsState {
  kWhole,   ///< a JSON object
  kCut,     ///< the beginning of one
  kBroken,  ///< anything else
};

struct Arguments {
  ArgumentsState state = ArgumentsState::kWhole;
  std::string text;       ///< the object, where whole; otherwise as written
  std::string note = {};  ///< how it was read, where it was no plain object
};

/// Undoes what can be undone without a guess: double encoding, a code fence around it, raw line breaks in strings.
/// Nothing at all is an empty object.
Arguments read_arguments(std::string_view written);

/// For sending a call back: `arguments` if they are a JSON object, else an object that quotes them. Servers refuse a
/// whole conversation for one call that is no JSON.
std::string sendable_arguments(const std::string& arguments);

/// parse_json for text of others: an Error also for nesting that would exhaust the stack when it is written out again.
Result<Json> parse_foreign(std::string_view text);

}  // namespace ww::agent
