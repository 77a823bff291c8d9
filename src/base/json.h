// SPDX-License-Identifier: Apache-2.0
//
// The door to the JSON library. Include it in sources only; headers take base/json_fwd.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ww {

/// Strict parsing of text from outside; the error says at which byte it went wrong. `where` names the source.
inline Result<Json> parse_json(std::string_view text, std::string where) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{std::string("not valid JSON at byte ") + std::to_string(error.byte), std::move(where)};
  }
}

}  // namespace ww
