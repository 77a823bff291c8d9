// SPDX-License-Identifier: Apache-2.0
//
// The verbs, as functions over what their flags said. Each prints its results, returns an exit code and throws Fault;
// bad input is printed to stderr here and becomes kExitBadInput. docs/cli/ has a page for each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/environment.h"
#include "reward/reward.h"

namespace ww::cli {

struct DoctorOptions {
  bool json = false;
};
int run_doctor(const DoctorOptions& options, const Environment& environment);

struct TasksOptions {
  std::vector<std::string> tasks;  ///< check: none means all under tasks/
  bool json = false;
};
int run_tasks_list(const TasksOptions& options, const Environment& environment);
int run_tasks_check(const TasksOptions& options, const Environment& environment);

struct BuildOptions {
  std::vector<std::string> solutions;
  std::string task;  ///< whose contract says what may be linked; "": the default contract
  bool json = false;
};
int run_build(const BuildOptions& options, const Environment& environment);

struct JudgeOptions {
  std::string task;  ///< "": requests come as JSON lines on stdin
  std::vector<std::string> solutions;
  bool timing = true;    ///< false: verify
  bool profile = false;  ///< also where each workload stands on the roofline; with a TASK only
  bool eager = true;
  bool compile = false;
  bool compile_max = false;
  std::optional<reward::Kind> reward;
  std::optional<int32_t> config;
  milliseconds time_cap{2000};
  bool json = false;
};
int run_judge(const JudgeOptions& options, const Environment& environment);

struct OptimizeOptions {
  std::string task;
  std::string model = "builtin";
  int turns = 200;
  seconds time_limit{3600};
  int64_t tokens = 0;                ///< of all requests and replies; 0: no limit
  double cost_usd = 0;               ///< 0: no limit
  int64_t context_tokens = 131'072;  ///< 0: no limit
  bool compact = false;
  int samples = 1;
  milliseconds time_cap{2000};
  std::filesystem::path run;     ///< "": runs/TASK-xxxx
  std::filesystem::path resume;  ///< a run folder to go on with; then nothing but json counts
  bool json = false;
};
int run_optimize(const OptimizeOptions& options, const Environment& environment);

struct EpisodesOptions {
  std::filesystem::path where = "runs";  ///< a folder of runs, a run, or for show and export an episode file
  std::string format = "sft", reward = "milestone";
  bool passed = false;  ///< export only episodes with a timed pass
  bool json = false;
};
int run_episodes_list(const EpisodesOptions& options, const Environment& environment);
int run_episodes_show(const EpisodesOptions& options, const Environment& environment);
int run_episodes_replay(const EpisodesOptions& options, const Environment& environment);
int run_episodes_export(const EpisodesOptions& options, const Environment& environment);

/// "ww: TEXT" on stderr; returns kExitBadInput.
int refuse(const std::string& text);

}  // namespace ww::cli
