// SPDX-License-Identifier: Apache-2.0
//
// Verdict to number, pure functions. Verdicts are stored and rewards computed from them, so a new reward needs no new
// runs. Both rewards lean on speedup.low: what is not known well earns little.
#pragma once

#include <optional>
#include <string_view>

#include "verdict/verdict.h"

namespace ww::reward {

enum class Kind {
  kMilestone,  ///< -1 not passed; 1 correct; 2 faster than eager; 3 faster than eager and compile, each by kMargin
  kSpeedup,    ///< -1 not passed; else speedup.low against compile, against eager where compile was not measured
};

/// "milestone", "speedup".
std::string_view name(Kind kind);
std::optional<Kind> kind_from_name(std::string_view text);

/// A solution is significantly faster where it takes less than 1 - kMargin of the baseline's time: more than 1.0526
/// times as fast. The published rule.
inline constexpr double kMargin = 0.05;

inline constexpr double kFailed = -1;

/// No reward for `no_verdict` (our fault or the machine's: training drops it), nor for kSpeedup of a pass that was not
/// timed. A cheat earns what every failure earns, kFailed.
std::optional<double> reward(Kind kind, const verdict::Verdict& verdict);

}  // namespace ww::reward
