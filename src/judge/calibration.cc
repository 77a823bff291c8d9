// SPDX-License-Identifier: Apache-2.0
#include "judge/calibration.h"

#include "base/hash.h"

namespace ww::judge {
namespace {

constexpr int kCalibrationDraws = 3;

}  // namespace

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

const Tolerance& calibrated_tolerance(Reference& reference, size_t workload, task::Precision precision) {
  std::optional<Tolerance>& kept = reference.kept_tolerance(workload);
  if (kept) return *kept;
  const WorkloadBuffers& buffers = reference.buffers(workload);
  Tolerance tolerance(precision, buffers.inputs, buffers.outputs);
  for (int draw = 0; draw < kCalibrationDraws; draw++) {
    reference.draw(workload, {random_word(), random_word(), "source"});
    reference.expect(workload, true);
    calibrate_on_draw(reference, workload, tolerance);
  }
  return kept.emplace(std::move(tolerance));
}

Expected expected_output(const Reference& reference, size_t workload, size_t output, bool prefer_truth,
                         const Tolerance& tolerance) {
  const auto truth = prefer_truth ? reference.truth(workload, output) : std::span<const std::byte>{};
  if (!truth.empty()) return {truth, task::DType::kFloat64, tolerance.against_truth(output)};
  return {reference.expected(workload, output), reference.buffers(workload).outputs[output].dtype,
          tolerance.against_eager(output)};
}

}  // namespace ww::judge
