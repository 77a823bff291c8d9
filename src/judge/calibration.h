// SPDX-License-Identifier: Apache-2.0
//
// What an output of the draw that lies in the arena is held against, and the reference against its fp64 self, which
// calibrates a tolerance.
#pragma once

#include <cstddef>
#include <span>

#include "judge/reference.h"
#include "judge/tolerance.h"

namespace ww::judge {

/// Requires: expect(workload, true) was the last request of `reference`. Outputs without a truth are left out.
void calibrate_on_draw(const Reference& reference, size_t workload, Tolerance& tolerance);

/// The workload's tolerance, calibrated on a few draws when it is first asked for.
const Tolerance& calibrated_tolerance(Reference& reference, size_t workload, task::Precision precision);

/// `bytes` are the reference's; `dtype` is float64 for a truth, else the output's own.
struct Expected {
  std::span<const std::byte> bytes;
  task::DType dtype;
  Bound bound;
};

/// The fp64 truth where it is preferred and there is one, else eager's output.
Expected expected_output(const Reference& reference, size_t workload, size_t output, bool prefer_truth,
                         const Tolerance& tolerance);

}  // namespace ww::judge
