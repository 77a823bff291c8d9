// SPDX-License-Identifier: Apache-2.0
//
// Trusted child processes of ours (compiler version probes, git, python without a task). Hostile ones: sandbox/.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"

namespace ww {

struct ChildResult {
  int exit_code = 0;  ///< 128 + signal if a signal ended it; 127 if the program could not be started
  bool timed_out = false;
  std::string output;  ///< stdout
  std::string errors;  ///< stderr
};

/// Runs to the end with no input; each stream is cut at 1 MiB. Throws Fault only if no process can be made, or
/// on a request to stop (base/interrupt.h), once the child is gone.
ChildResult run_child(const std::vector<std::string>& argv, milliseconds limit);

}  // namespace ww
