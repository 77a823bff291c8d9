// SPDX-License-Identifier: Apache-2.0
//
// One solution on one opened reference: artifact in a fresh runner, every workload judged, one verdict assembled.
#pragma once

#include <functional>

#include "build/builder.h"
#include "device/cpu.h"
#include "judge/judge.h"
#include "judge/reference.h"
#include "judge/result_cache.h"
#include "judge/workload_judging.h"

namespace ww::judge {

/// What a judging works with; all borrowed.
struct Bench {
  Reference& reference;
  Clocks& clocks;
  const ResultCache& cache;
  RunnerProcessSetup runner_setup;
  device::Ceilings ceilings;
  std::vector<double> flops;  ///< of one forward, one a workload
  std::string baseline_key;   ///< everything a cached baseline depends on, but for the workload
};

/// Fills workloads, trials, evidence, artifact-independent figures and the conclusion of `verdict`. Throws Fault.
void judge_artifact(Bench& bench, const task::Task& task, const build::Artifact& artifact, const Options& options,
                    verdict::Verdict& verdict);

/// Whether compile's ratio to eager is known for every workload, so that torch.compile need not run. `baseline_key` as
/// in Bench.
bool knows_compile(const ResultCache& cache, const std::string& baseline_key, const task::Task& task);

/// Least time for one call, microseconds: bytes of inputs, weights and outputs over copy bandwidth, or floating-point
/// operations (0 if unknown) over the fused multiply-add rate, whichever is longer.
double speed_of_light_us(const WorkloadBuffers& buffers, double flops, const device::Ceilings& ceilings);

}  // namespace ww::judge
