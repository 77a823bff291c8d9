// SPDX-License-Identifier: Apache-2.0
//
// Tools for an endpoint that knows none: described in the system message, called and answered as text. Pure.
#pragma once

#include <vector>

#include "agent/model.h"

namespace ww::agent {

/// The same conversation without a call in it: what a request without tools may hold. Calls come back in the form that
/// agent/text_calls.h reads.
std::vector<Message> tools_as_text(const std::vector<Message>& history, const std::vector<ToolSpec>& tools);

}  // namespace ww::agent
