// SPDX-License-Identifier: Apache-2.0
#include "judge/admission.h"

#include "base/hash.h"
#include "judge/calibration.h"

namespace ww::judge {
namespace {

constexpr int kStrawDraws = 2;

/// Calibrates on the draw that lies in the arena; false if the reference is not finite there.
bool draw_and_calibrate(Reference& reference, size_t workload, Tolerance& tolerance) {
  reference.draw(workload, {random_word(), random_word(), "source"});
  const bool finite = reference.expect(workload, true);
  calibrate_on_draw(reference, workload, tolerance);
  return finite;
}

bool passes(const Reference& reference, size_t workload, const Tolerance& tolerance) {
  const auto& outputs = reference.buffers(workload).outputs;
  for (size_t k = 0; k < outputs.size(); k++) {
    const Expected expected = expected_output(reference, workload, k, true, tolerance);
    const auto straw = reference.other(workload, k);
    if (!compare(outputs[k], expected.bytes.data(), expected.dtype, straw.data(), expected.bound).ok) return false;
  }
  return true;
}

struct Straw {
  std::string name;
  bool passes = true;  ///< so far, on every draw
  std::string skipped;
};

void judge_workload(Reference& reference, size_t workload, const task::Contract& contract, Admission& admission) {
  const WorkloadBuffers& buffers = reference.buffers(workload);
  Tolerance tolerance(contract.precision, buffers.inputs, buffers.outputs);
  std::vector<Straw> straws;
  for (const std::string& name : reference.straws(workload)) straws.push_back({name, true, ""});
  for (int draw = 0; draw < 1 + kStrawDraws; draw++) {
    if (!draw_and_calibrate(reference, workload, tolerance)) {
      admission.problems.push_back(buffers.name + ": the reference's output is not finite on its own inputs");
      return;
    }
    if (draw == 0) continue;  // the first draw calibrates, and gives the second a previous output
    for (Straw& straw : straws) {
      if (!straw.passes) continue;
      if (const auto skipped = reference.straw(workload, straw.name)) straw.skipped = *skipped;
      straw.passes = straw.skipped.empty() && passes(reference, workload, tolerance);
    }
  }
  for (const Straw& straw : straws) {
    if (!straw.skipped.empty()) {
      admission.skipped.push_back(buffers.name + ": " + straw.name + " (" + straw.skipped + ")");
    } else if (straw.passes) {
      admission.weak.push_back(buffers.name + ": " + straw.name);
    }
  }
}

}  // namespace

void judge_straws(Reference& reference, const task::Contract& contract, Admission& admission,
                  const std::function<void(double)>& on_progress) {
  for (size_t workload = 0; workload < reference.workloads(); workload++) {
    on_progress(static_cast<double>(workload) / static_cast<double>(reference.workloads()));
    judge_workload(reference, workload, contract, admission);
  }
  admission.admitted = admission.problems.empty();
}

}  // namespace ww::judge
