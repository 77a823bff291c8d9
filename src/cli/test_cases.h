// SPDX-License-Identifier: Apache-2.0
//
// Runs the cases under tests/cases: bad and unusual tasks, solutions and command lines, each with what must be said.
#pragma once

#include <string>

#include "cli/environment.h"
#include "cli/test_corpus.h"
#include "judge/judge.h"

namespace ww::cli {

struct CaseResult {
  Case entry;
  bool passed = false;
  std::string note;  ///< what was said; for a failure, what should have been
  double seconds = 0;
};

CaseResult run_case(const Case& entry, judge::Judge& judge, const Environment& environment);

}  // namespace ww::cli
