// SPDX-License-Identifier: Apache-2.0
//
// The judge: builds, checks, times and looks for cheating; returns one verdict. It alone owns buffers, clock and
// comparison; the referee (torch) and the runner (the solution) are other processes whose words are claims.
// One Judge serves many judgings with everything warm. Not thread-safe: one judging at a time per device.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json_fwd.h"
#include "base/result.h"
#include "build/builder.h"
#include "judge/roofline.h"
#include "task/task.h"
#include "verdict/verdict.h"

namespace ww::judge {

struct Settings {
  std::filesystem::path program_folder;                     ///< where ww-runner lies
  std::filesystem::path python;                             ///< interpreter with torch
  std::filesystem::path python_package;                     ///< folder that holds warpwright/
  std::filesystem::path include_folder;                     ///< folder that holds warpwright/solution.h
  std::filesystem::path cache_folder;                       ///< artifacts, baselines, admissions
  uint64_t artifact_limit_bytes = build::kCacheLimitBytes;  ///< of built solutions in the cache
  int threads = 0;                                          ///< 0: as many as cores we may use

  /// How solutions are built, for whoever builds into the same cache.
  build::Settings build() const {
    return {.cache_folder = cache_folder / "artifacts",
            .include_folder = include_folder,
            .cache_limit_bytes = artifact_limit_bytes};
  }
};

enum class Stage { kStartReferee, kLoad, kAdmit, kBuild, kCheck, kCompileBaseline, kTime, kDone };

struct Progress {
  Stage stage;
  std::string workload;  ///< "" where it does not apply
  double done = 0;       ///< 0..1 within the judging
  nanoseconds left{};    ///< estimate for the judging; for kLoad and kAdmit alone, of the admission
  bool at_most = false;  ///< `left` is a limit, no estimate
};

struct Options {
  bool eager = true;
  bool compile = false;
  bool compile_max = false;
  bool timing = true;             ///< false: `verify`, correctness alone
  milliseconds time_cap{2000};    ///< of judging one workload; sampling gets at least half of it
  std::optional<int32_t> config;  ///< judge this config only; none: tune, then judge the best
  std::function<void(const Progress&)> on_progress;
};

/// What `tasks check` found. `admitted` false: `problems` say why (exit 2). A weak task is admitted with reasons.
struct Admission {
  bool admitted = false;
  std::vector<std::string> problems;
  std::vector<std::string> weak;     ///< straw solutions that passed, with the workload
  std::vector<std::string> skipped;  ///< straws that coincide with the reference, or do not apply
  std::vector<double> flops = {};    ///< of one forward, one a workload; where admitted
};

class Judge {
 public:
  /// Throws Fault where the machine lacks what judging needs.
  explicit Judge(Settings settings);
  ~Judge();

  /// One verdict. Faults become `no_verdict`; never throws for what a task or solution does. A task that is refused
  /// gives an Error (bad input).
  Result<verdict::Verdict> judge(const task::Task& task, const std::filesystem::path& solution, const Options& options);

  /// Runs the reference in the sandbox and judges the straw solutions. `limit`: the whole check's wall time, the start
  /// of the referee included; a start that takes nearly all of it leaves the task some seconds still.
  Admission check(const task::Task& task, milliseconds limit, const std::function<void(const Progress&)>& on_progress);

  /// What the referee says of the task: its `load` replies (docs/formats/referee.md), one a workload, as a list.
  Result<Json> describe(const task::Task& task);

  /// One graph a workload (docs/formats/graph.md), in the task's order.
  Result<std::vector<Json>> capture(const task::Task& task);

  /// For `profile`: what the machine reaches and what each workload takes at least.
  Result<Roofline> roofline(const task::Task& task);

  /// Facts for doctor: isolation layers, device, referee, compiler.
  Json facts();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ww::judge
