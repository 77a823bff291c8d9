// SPDX-License-Identifier: Apache-2.0
//
// Episodes as rows for trainers: docs/formats/export.md. A chain is what a model was shown without a break; a
// compaction starts a new one. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "reward/reward.h"

namespace ww::agent {

enum class ExportFormat { kSft, kVerl, kSlime };

/// "sft", "verl", "slime".
std::optional<ExportFormat> export_format_from_name(std::string_view name);

/// What a list of episodes says of each: `task task_id model turns ending best input_tokens output_tokens cost_usd
/// elapsed_s`. Requires: the events are sound (Episode::read).
Json summarise_episode(const std::vector<Json>& events);

/// The reward of the best verdict of an episode, else of the last one; none where there is nothing to reward (no
/// verdict because of a fault, or an episode without an end).
std::optional<double> episode_reward(const std::vector<Json>& events, reward::Kind kind);

/// One row a chain. `session` names the episode in the rows.
std::vector<Json> export_episode(const std::vector<Json>& events, ExportFormat format, const std::string& session,
                                 reward::Kind kind);

}  // namespace ww::agent
