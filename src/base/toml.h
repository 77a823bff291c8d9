// SPDX-License-Identifier: Apache-2.0
//
// TOML text as Json, toml++ behind this door. Dates become strings.
#pragma once

#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ww {

/// The error names `where`, line and column.
Result<Json> parse_toml(std::string_view text, const std::string& where);

}  // namespace ww
