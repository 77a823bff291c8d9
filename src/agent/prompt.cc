// SPDX-License-Identifier: Apache-2.0
#include "agent/prompt.h"

#include <fmt/format.h>

#include "base/json.h"

namespace ww::agent {

std::string task_prompt(const task::Task& task) {
  std::string workloads;
  for (const auto& workload : task.workloads) workloads += fmt::format("- {}: {}\n", workload.name, workload.set);
  return fmt::format(
      "Make a native solution of the task below that is faster than PyTorch on the CPU and computes the same.\n"
      "A solution is C++ in kernels/*.cpp that includes <warpwright/solution.h> and defines ww_forward. It is "
      "compiled\n"
      "with g++ -O3 -march=native -fopenmp and may link oneDNN; it uses call->threads threads. Use the tools write "
      "and\n"
      "profile until it is fast, then finish. The fastest solution that passes wins.\n\n"
      "Contract: {}\nWorkloads (module-level constants that are overridden):\n{}\nReference:\n```python\n{}```\n",
      task::to_json(task.contract).dump(), workloads, task.source);
}

}  // namespace ww::agent
