// SPDX-License-Identifier: Apache-2.0
//
// Runs a probe without the sandbox, so that it can be seen to work; whatever it does, the machine stays whole: resource
// limits, a session that is killed at the end, mounts of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace ww::cli {

struct BoundedEnd {
  int exit_code = 0;  ///< 128 + signal where a signal ended it
  bool timed_out = false;
  std::string output;  ///< the first of stdout and stderr together
  uint64_t output_bytes = 0;
};

/// What becomes of processes that it leaves behind in its group.
enum class Rest { kKilled, kSpared };

/// With our own environment and `environment`. Throws Fault, also on a request to stop.
BoundedEnd run_bounded(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                       milliseconds limit, Rest rest);

}  // namespace ww::cli
