// SPDX-License-Identifier: Apache-2.0
//
// Where a solution stands and where its time may go: figures of a verdict held against what the machine reaches. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "report/text.h"
#include "verdict/verdict.h"

namespace ww::report {

/// What the machine reaches, and what a workload takes at least (judge/roofline.h has the definitions).
struct Ceilings {
  double copy_gb_per_s = 0;
  double fma_gflop_per_s = 0;
};
struct WorkloadWork {
  std::string workload;
  double bytes = 0;
  double flops = 0;
};

/// One timed workload on the roofline.
struct Position {
  std::string workload;
  double gb_per_s = 0;     ///< least traffic over the time taken
  double gflop_per_s = 0;  ///< 0 where nothing is counted
  bool compute_bound = false;
  double bound_us = 0;  ///< least time at both ceilings
  double reached = 0;   ///< bound over time: 1 is the roofline itself
};

struct Profile {
  Ceilings ceilings;
  std::vector<Position> positions;  ///< of workloads that have times
  std::vector<std::string> hints;   ///< at most three sentences, the most useful first
};

/// Work that names no workload of the verdict is left out.
Profile profile_of(const verdict::Verdict& verdict, const Ceilings& ceilings, const std::vector<WorkloadWork>& work);

/// Headline, summary, a block a workload, the ceilings and the hints; what failed, where there is no time.
std::string profile_text(const verdict::Verdict& verdict, const Profile& profile, size_t workloads, Style style);

/// The `profile` of `ww profile --json`: docs/cli/judge.md.
Json to_json(const Profile& profile);

}  // namespace ww::report
