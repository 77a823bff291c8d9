// SPDX-License-Identifier: Apache-2.0
//
// Everything an optimisation has done for it outside the agent: building, judging, questions about the task. The real
// workshop asks the judge (judge_workshop.h); tests bring their own (fake_workshop.h). One task each. Single-threaded.
// All of it throws Fault for what is ours or the machine's, Fault{kInterrupted} where the user asked to stop.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json_fwd.h"
#include "base/result.h"
#include "judge/judge.h"
#include "sandbox/sandbox.h"
#include "verdict/verdict.h"

namespace ww::agent {

struct Built {
  bool ok = false;
  std::string diagnostics = {};        ///< compiler output; empty if there is none
  std::filesystem::path library = {};  ///< of a good build; read-only
  bool cached = false;
  nanoseconds elapsed{};
};

struct JudgeRequest {
  bool timing = true;                         ///< false: correctness alone
  bool compile = false;                       ///< time torch.compile too
  std::optional<int32_t> config = {};         ///< none: tune over all configs, then judge the best
  std::optional<milliseconds> time_cap = {};  ///< of judging a workload; none: the workshop's for exploring
};

class Workshop {
 public:
  virtual ~Workshop() = default;

  virtual judge::Admission admit() = 0;
  /// One graph a workload (docs/formats/graph.md). An Error names the limit.
  virtual Result<std::vector<Json>> capture() = 0;
  /// The referee's `load` replies (docs/formats/referee.md), one a workload.
  virtual Result<Json> describe() = 0;

  virtual Built build(const std::filesystem::path& solution) = 0;
  /// An Error is a refused task.
  virtual Result<verdict::Verdict> judge(const std::filesystem::path& solution, const JudgeRequest& request) = 0;

  /// What programs in the agent's shell see beside the workspace and the system: headers. And their environment.
  virtual std::vector<sandbox::Mount> shell_mounts() const { return {}; }
  virtual std::vector<std::string> shell_environment() const { return {}; }

  /// From here on everything is judged by processes started anew.
  virtual void start_afresh() {}

  /// Imports `folder`/module.py in a fresh Python beside the reference. An Error says where they differ.
  virtual Status try_module(const std::filesystem::path& folder) = 0;
};

}  // namespace ww::agent
