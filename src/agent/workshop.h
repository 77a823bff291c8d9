// SPDX-License-Identifier: Apache-2.0
//
// What the agent's tools can have done for them outside the loop. The real one asks the judge (judge_workshop.h); tests
// bring their own. Single-threaded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "verdict/verdict.h"

namespace ww::agent {

struct Built {
  bool ok = false;
  std::string diagnostics;  ///< compiler output; empty if there is none
  bool cached = false;
  nanoseconds elapsed{};
};

struct JudgeRequest {
  bool timing = true;                         ///< false: correctness alone
  bool compile = false;                       ///< time torch.compile too
  std::optional<int32_t> config = {};         ///< none: tune over all configs, then judge the best
  std::optional<milliseconds> time_cap = {};  ///< sampling time a workload; none: the workshop's for exploring
};

class Workshop {
 public:
  virtual ~Workshop() = default;
  /// Throws Fault for what is not the solution's doing.
  virtual Built build(const std::filesystem::path& solution) = 0;
  /// An Error is a refused task. Throws Fault{kInterrupted} where the user asked to stop.
  virtual Result<verdict::Verdict> judge(const std::filesystem::path& solution, const JudgeRequest& request) = 0;
};

}  // namespace ww::agent
