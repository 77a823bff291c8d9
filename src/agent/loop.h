// SPDX-License-Identifier: Apache-2.0
//
// The agent's loop: show the model the history, run the tools it calls, append what came of it, until something named
// ends the episode. The history only grows; the episode file is the history.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "agent/episode.h"
#include "agent/model.h"
#include "agent/tools.h"
#include "base/clock.h"

namespace ww::agent {

struct Limits {
  int turns = 200;
  seconds wall{3600};  ///< over all sittings of the episode
};

struct EpisodeEnd {
  Ending ending = Ending::kFinished;
  std::string reason;  ///< one sentence for people
};

struct LoopSettings {
  Limits limits;
  const std::atomic<bool>* interrupted = nullptr;        ///< looked at between tool calls; may be null
  std::function<void(const Json& event)> on_event = {};  ///< after the event is on disk; may be empty
};

/// The first event of an episode: what is to be done. Requires: nothing was appended yet.
void begin_episode(Episode& episode, const Model& model, const std::string& prompt, const Json& task,
                   const Json& settings);

/// Runs or continues the episode until it ends, and records the end. An episode that already ended for good is left as
/// it is. A Fault is recorded as the ending and thrown on, but for Fault{kInterrupted}, which is an ending.
EpisodeEnd run_episode(Episode& episode, Model& model, Tools& tools, const LoopSettings& settings);

}  // namespace ww::agent
