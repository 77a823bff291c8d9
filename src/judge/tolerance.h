// SPDX-License-Identifier: Apache-2.0
//
// What error a solution may make, calibrated for each output from the reference's own error at the contract's precision
// against the reference in fp64 (docs/statistics.md, "Tolerance"). Pure.
#pragma once

#include <vector>

#include "judge/compare.h"
#include "task/task.h"

namespace ww::judge {

/// A solution may err by these multiples of what the reference itself errs. The worst element of an honest kernel with
/// another summation order was seen at up to 4 times the reference's; its rms error at up to 2 times
/// (docs/statistics.md).
inline constexpr double kMaxErrorMultiple = 10;
inline constexpr double kRmsErrorMultiple = 4;

class Tolerance {
 public:
  /// `outputs` and `inputs` as the referee described them; the inputs' sizes bound how long the reductions can be.
  Tolerance(task::Precision precision, const std::vector<task::TensorSpec>& inputs,
            const std::vector<task::TensorSpec>& outputs);

  /// The reference's own error on one draw. Keeps the largest.
  void calibrate(size_t output, const TensorError& own);

  /// Bound on the distance to the fp64 truth; and to what eager computed at the contract's precision (which errs too).
  Bound against_truth(size_t output) const;
  Bound against_eager(size_t output) const;

 private:
  std::vector<TensorError> own_;
  std::vector<TensorError> floor_;
};

}  // namespace ww::judge
