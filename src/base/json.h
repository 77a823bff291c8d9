// SPDX-License-Identifier: Apache-2.0
//
// The door to the JSON library. Include it in sources only; headers take base/json_fwd.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ww {

/// Strict parsing of text from outside; the error says at which byte it went wrong. `where` names the source.
Result<Json> parse_json(std::string_view text, std::string where);

/// Parsing of text that this program itself wrote or has already parsed: anything else is a broken invariant.
Json parse_own_json(std::string_view text);

}  // namespace ww
