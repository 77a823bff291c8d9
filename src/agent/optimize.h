// SPDX-License-Identifier: Apache-2.0
//
// A task made faster: admission, an episode of the agent, the best attempt judged again, and the winner put together.
// Everything it learns is in the run folder before it goes on, so it can be called again on the same folder.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop.h"
#include "agent/model.h"
#include "agent/run_folder.h"
#include "agent/workshop.h"
#include "task/task.h"
#include "verdict/verdict.h"

namespace ww::agent {

struct OptimizeSettings {
  Limits limits;
  milliseconds confirm_cap{2000};  ///< of the confirming judging of one workload
  int confirmations = 3;           ///< attempts that are judged again before giving up
};

/// One verdict of the episode.
struct Attempt {
  int number = 0;      ///< from 1, in the order of the episode
  std::string name;    ///< what the model called it
  std::string folder;  ///< under attempts/
  verdict::Verdict verdict;
};

/// What happens, while it happens; every function may be empty.
struct Observer {
  std::function<void(const std::string& stage)> on_stage = {};
  std::function<void(const Attempt&)> on_attempt = {};  ///< also for those of an earlier sitting
};

struct Optimized {
  std::vector<Attempt> tried;
  EpisodeEnd end;
  std::optional<verdict::Verdict> winner;  ///< the confirming judging's; the folder is RunFolder::winner()
  std::string no_winner;                   ///< why there is none
  std::vector<std::string> weak;           ///< straw solutions that pass the task
};

/// Makes the model once the task is admitted; an Error (what it cannot express) means that there is no winner.
using ModelOpener = std::function<Result<std::unique_ptr<Model>>()>;

/// Error: the task is refused, or the episode file is damaged. Throws Fault, kInterrupted included: the run folder then
/// holds everything so far.
Result<Optimized> optimize(Workshop& workshop, const task::Task& task, const RunFolder& run,
                           const ModelOpener& open_model, const OptimizeSettings& settings,
                           const std::atomic<bool>* interrupted, const Observer& observer);

/// The document of `optimize --json` and result.json: docs/formats/run.md.
Json to_json(const Optimized& optimized, const RunFolder& run, const task::Task& task);

}  // namespace ww::agent
