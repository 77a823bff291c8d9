// SPDX-License-Identifier: Apache-2.0
//
// What an endpoint's error means. Status codes and error codes decide where they exist; words are looked at only to
// tell a context that is too long, for which most servers have no code. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/draft.h"
#include "base/json_fwd.h"

namespace ww::agent {

/// Of a response that is no success. `body` may be anything: an error object, an HTML page of a proxy, nothing.
WireError error_of_status(int status, std::string_view body);

/// The error that a body or a stream event with status 200 is, if it is one.
std::optional<WireError> error_of_json(const Json& json);

/// Of a body with status 200 that is no JSON.
WireError error_of_no_json(std::string_view body);

}  // namespace ww::agent
