// SPDX-License-Identifier: Apache-2.0
//
// What an endpoint takes, found out by asking it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/wire.h"

namespace ww::agent {

enum class Taken { kYes, kNo, kUnknown };  ///< kUnknown: the endpoint was not to be had just now

/// Sends one small request in the form that `features` describe.
using SmallRequest = std::function<Taken(const std::vector<Message>& history, const std::vector<ToolSpec>& tools,
                                         const Features& features)>;

/// Tries the features one by one, beginning with `wanted`, and returns those that are taken. None: even the plainest
/// request is refused, or an answer was unknown. Ten requests at most.
std::optional<Features> probe_features(const SmallRequest& ask, const Features& wanted);

/// For people and the episode: "streams, usage in streams, tools, ...".
std::string describe(const Features& features);

}  // namespace ww::agent
