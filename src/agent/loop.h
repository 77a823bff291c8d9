// SPDX-License-Identifier: Apache-2.0
//
// The agent's loop: show the model the history, run the tools it calls, append what came of it, until something named
// ends the episode. The history only grows; the episode file is the history.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "agent/episode.h"
#include "agent/model.h"
#include "agent/tools.h"
#include "base/clock.h"

namespace ww::agent {

/// Over all sittings of the episode; 0 is no limit, but for turns and wall.
struct Limits {
  int turns = 200;                   ///< replies of the model
  int64_t context_tokens = 131'072;  ///< of what the model is shown, its reply included
  int64_t tokens = 0;                ///< of all requests and replies together
  seconds wall{3600};
  double cost_usd = 0;
};

/// What an episode has taken so far.
struct Spend {
  int turns = 0;
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  int64_t context_tokens = 0;  ///< of what the model would be shown next
  double cost_usd = 0;
};

struct EpisodeEnd {
  Ending ending = Ending::kFinished;
  std::string reason = {};  ///< one sentence for people
  Spend spend = {};
};

struct LoopSettings {
  Limits limits;
  /// At the context limit, once: go on from a summary instead of ending. For inference; it breaks the chain of tokens.
  bool compact = false;
  const std::atomic<bool>* interrupted = nullptr;  ///< looked at between tool calls; may be null
  std::function<void(const Json& event, const Spend& spend)> on_event = {};  ///< after it is in the file; may be empty
};

/// The first event of an episode: what is to be done. Requires: nothing was appended yet.
void begin_episode(Episode& episode, const Model& model, const std::string& prompt, const Json& task,
                   const Json& settings);

/// Runs or continues the episode until it ends, and records the end. Takes the events that `episode` holds. An episode
/// that already ended for good is left as it is. A Fault is recorded as the ending and thrown on, but for
/// Fault{kInterrupted}, which is an ending. Error: an ending that this version does not know.
Result<EpisodeEnd> run_episode(Episode& episode, Model& model, Tools& tools, const LoopSettings& settings);

}  // namespace ww::agent
