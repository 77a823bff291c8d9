// SPDX-License-Identifier: Apache-2.0
//
// `ww test`: judges the attack corpus with its honest twins, and the cases of bad and unusual input, in this process
// with everything warm; tries to get out of the sandbox. What it prints ends in "N passed, N failed".
#pragma once

#include <string>

#include "cli/environment.h"

namespace ww::cli {

struct TestOptions {
  bool attacks = false;  ///< none of the three: all of them
  bool cases = false;
  bool sandbox = false;
  std::string filter;  ///< regular expression on names; "": all
  bool quick = false;  ///< one attack of each family, and all twins
  int passes = 1;      ///< of the attacks
  bool json = false;   ///< stdout has a JSON line for each result, and one for the sum
};

/// Exit code: 0, or 1 where a probe got out or says nothing, an attack was accepted, a twin rejected, a case not as it
/// says or over 2 % are no_verdict; 2 for a filter that is no regular expression or matches nothing, or a corpus that
/// cannot be read. Throws Fault.
int run_test(const TestOptions& options, const Environment& environment);

}  // namespace ww::cli
