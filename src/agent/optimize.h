// SPDX-License-Identifier: Apache-2.0
//
// A task made faster: admission, one or more episodes of the agent, the best attempt judged again by processes started
// anew, and the winner put together.
// Everything it learns is in the run folder before it goes on, so it can be called again on the same folder.
#pragma once

#include <atomic>
#include <filesystem>
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
  Limits limits;                   ///< of each sample
  bool compact = false;            ///< LoopSettings::compact
  int samples = 1;                 ///< episodes beside each other
  milliseconds confirm_cap{2000};  ///< of the confirming judging of one workload
  int confirmations = 3;           ///< attempts that are judged again before giving up
  bool confirm_afresh = true;      ///< by processes started anew: not worth their start where the writer is ours
};

/// One verdict of an episode.
struct Attempt {
  int number = 0;    ///< from 1, in the order in which they came
  int sample = 0;    ///< from 0
  std::string name;  ///< what the model called it
  std::filesystem::path folder;
  verdict::Verdict verdict;
};

/// Where an episode stands after a reply.
struct Standing {
  int sample = 0, samples = 1;
  std::string name;  ///< what the model said first
  Spend spend;       ///< of this episode
  double best = 0;   ///< speed-up over eager of the best attempt so far, of all samples; 0 where none passed
};

/// What happens, while it happens; every function may be empty. Called by one thread at a time.
struct Observer {
  std::function<void(const std::string& stage)> on_stage = {};
  std::function<void(const Standing&)> on_reply = {};
  std::function<void(const Attempt&)> on_attempt = {};  ///< also for those of an earlier sitting
};

struct Optimized {
  std::vector<Attempt> tried;
  std::vector<EpisodeEnd> ends;            ///< one a sample; empty where there was no model
  std::optional<verdict::Verdict> winner;  ///< the confirming judging's; the folder is RunFolder::winner()
  std::string no_winner;                   ///< why there is none
  std::vector<std::string> weak;           ///< straw solutions that pass the task
};

/// Makes the model of one sample once the task is admitted; an Error (what it cannot express) means that there is no
/// winner. On the thread that calls optimize().
using ModelOpener = std::function<Result<std::unique_ptr<Model>>()>;

/// Error: the task is refused, or the episode file is damaged. Throws Fault, kInterrupted included: the run folder then
/// holds everything so far.
Result<Optimized> optimize(Workshop& workshop, const task::Task& task, const RunFolder& run,
                           const ModelOpener& open_model, const OptimizeSettings& settings,
                           const std::atomic<bool>* interrupted, const Observer& observer);

/// The document of `optimize --json` and result.json: docs/formats/run.md.
Json to_json(const Optimized& optimized, const RunFolder& run, const task::Task& task);

}  // namespace ww::agent
