// SPDX-License-Identifier: Apache-2.0
//
// An episode's calls carried out again, without the model, against fresh tools: does the same come of them?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/tools.h"
#include "base/json_fwd.h"

namespace ww::agent {

/// One call that was carried out again.
struct Replayed {
  int turn = 0;
  std::string tool;
  std::string before, after;  ///< what is compared: outcome of a verdict, whether it builds, else the text
  bool same() const { return before == after; }
};

/// Carries out every answered call in order. Times and speed-ups differ with every judging and are not compared.
/// Requires: the events are sound (Episode::read); `tools` are new. Returns how many differ. Throws Fault.
int replay_episode(const std::vector<Json>& events, Tools& tools, const std::function<void(const Replayed&)>& on_call);

}  // namespace ww::agent
