// SPDX-License-Identifier: Apache-2.0
//
// What a task's workloads must move and compute at least, for roofline positions. Nothing that a verdict rests on.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "judge/referee_client.h"
#include "task/task.h"

namespace ww::judge {

struct Work {
  std::string workload;
  double bytes = 0;  ///< inputs, weights and outputs, each once. More than is needed where a forward reads only a part
  double flops = 0;  ///< of matrix products, convolutions and attention, as torch counts them; 0: there are none
};

struct Roofline {
  double copy_gb_per_s = 0;    ///< bytes read plus bytes written, out of cache, measured on this machine
  double fma_gflop_per_s = 0;  ///< fp32, measured on this machine
  std::vector<Work> work;      ///< one a workload, in the task's order
};

/// Loads the task in a child of its own. An Error is the task's. Throws Fault.
Result<std::vector<Work>> measure_work(RefereeParent& parent, const task::Task& task, int threads, nanoseconds limit);

}  // namespace ww::judge
