// SPDX-License-Identifier: Apache-2.0
//
// A workshop for tests: judges by what the source says. "speed=2.5" passes at that speed-up over eager, "wrong" is
// wrong, "fault" throws, "interrupt" throws as if the user had asked to stop; anything else does not build. Counts its
// judgings.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agent/workshop.h"

namespace ww::agent {

/// A passing verdict of one workload with these speed-ups, for tests of what reads verdicts.
verdict::Verdict example_verdict(double speedup, const JudgeRequest& request);

class FakeWorkshop : public Workshop {
 public:
  judge::Admission admit() override;
  Result<std::vector<Json>> capture() override;
  Result<Json> describe() override;
  Built build(const std::filesystem::path& solution) override;
  Result<verdict::Verdict> judge(const std::filesystem::path& solution, const JudgeRequest& request) override;

  Status try_module(const std::filesystem::path& folder) override;

  void start_afresh() override { afresh++; }

  int judgings = 0, afresh = 0;
  std::string refusal;         ///< if not empty, why the task is refused
  std::string lucky_once;      ///< a source with this text passes once and is wrong from then on
  std::string module_problem;  ///< if not empty, what try_module finds

 private:
  static std::string source(const std::filesystem::path& solution);

  std::set<std::string> lucky_;
};

}  // namespace ww::agent
