// SPDX-License-Identifier: Apache-2.0
//
// A workshop for tests: judges by what the source says. "speed=2.5" passes at that speed-up over eager, "wrong" is
// wrong, "fault" throws, "interrupt" throws as if the user had asked to stop; anything else does not build. Counts its
// judgings.
#pragma once

#include <string>

#include "agent/workshop.h"

namespace ww::agent {

/// A passing verdict of one workload with these speed-ups, for tests of what reads verdicts.
verdict::Verdict example_verdict(double speedup, const JudgeRequest& request);

class FakeWorkshop : public Workshop {
 public:
  Built build(const std::filesystem::path& solution) override;
  Result<verdict::Verdict> judge(const std::filesystem::path& solution, const JudgeRequest& request) override;

  int judgings = 0;

 private:
  static std::string source(const std::filesystem::path& solution);
};

}  // namespace ww::agent
