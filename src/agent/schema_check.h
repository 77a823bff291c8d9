// SPDX-License-Identifier: Apache-2.0
//
// Arguments of a tool call against the tool's JSON schema: the part of JSON schema that our tools use (type,
// properties, required, additionalProperties, items, enum, minimum, maximum, minItems).
#pragma once

#include "base/json_fwd.h"
#include "base/result.h"

namespace ww::agent {

/// The error names the argument ("edits[2].old") and what it must be, in words for a model. Requires: `schema` is ours.
Status check_arguments(const Json& arguments, const Json& schema);

}  // namespace ww::agent
