// SPDX-License-Identifier: Apache-2.0
#include "judge/roofline.h"

namespace ww::judge {

Result<std::vector<Work>> measure_work(RefereeParent& parent, const task::Task& task, int threads, nanoseconds limit) {
  const auto child = parent.open(threads);
  std::vector<Work> all;
  for (const task::Workload& workload : task.workloads) {
    const auto loaded = child->load({.workload = workload.name,
                                     .filename = task.source_path.filename().string(),
                                     .source = task.source,
                                     .set = workload.set,
                                     .contract = task.contract,
                                     .check = false},
                                    limit);
    if (!loaded) return loaded.error();
    const auto flops = child->flops(workload.name, limit);
    if (!flops) return flops.error();
    Work& work = all.emplace_back(Work{.workload = workload.name, .bytes = 0, .flops = *flops});
    for (const auto* list : {&loaded->inputs, &loaded->weights, &loaded->outputs}) {
      for (const auto& spec : *list) work.bytes += static_cast<double>(spec.bytes());
    }
  }
  return all;
}

}  // namespace ww::judge
