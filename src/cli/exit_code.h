// SPDX-License-Identifier: Apache-2.0
//
// What the program's exit status means: docs/cli/README.md.
#pragma once

namespace ww::cli {

enum ExitCode : int {
  kExitPass = 0,
  kExitNotPassed = 1,  ///< judged, and not passed
  kExitBadInput = 2,   ///< usage, or a task or solution that cannot be judged
  kExitFault = 3,      ///< ours or the machine's
  kExitInterrupted = 130
};

}  // namespace ww::cli
