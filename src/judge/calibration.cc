// SPDX-License-Identifier: Apache-2.0
#include "judge/calibration.h"

namespace ww::judge {

void calibrate_on_draw(const Reference& reference, size_t workload, Tolerance& tolerance) {
  const auto& outputs = reference.buffers(workload).outputs;
  for (size_t k = 0; k < outputs.size(); k++) {
    const auto truth = reference.truth(workload, k);
    if (truth.empty()) continue;
    const Comparison own =
        compare(outputs[k], truth.data(), task::DType::kFloat64, reference.expected(workload, k).data(), {1, 1});
    tolerance.calibrate(k, own.error);
  }
}

Expected expected_output(const Reference& reference, size_t workload, size_t output, bool prefer_truth,
                         const Tolerance& tolerance) {
  const auto truth = prefer_truth ? reference.truth(workload, output) : std::span<const std::byte>{};
  if (!truth.empty()) return {truth, task::DType::kFloat64, tolerance.against_truth(output)};
  return {reference.expected(workload, output), reference.buffers(workload).outputs[output].dtype,
          tolerance.against_eager(output)};
}

}  // namespace ww::judge
