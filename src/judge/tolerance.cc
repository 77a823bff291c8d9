// SPDX-License-Identifier: Apache-2.0
#include "judge/tolerance.h"

#include <algorithm>
#include <cmath>

namespace ww::judge {
namespace {

/// Unit roundoff 2^-p of a significand of p bits (IEEE 754; tf32 and bf16 as NVIDIA and Intel define them).
double unit_roundoff(task::Precision precision) {
  switch (precision) {
    case task::Precision::kFp32:
      return std::ldexp(1, -24);
    case task::Precision::kTf32:
      return std::ldexp(1, -11);
    case task::Precision::kFp16:
      return std::ldexp(1, -11);
    case task::Precision::kBf16:
      return std::ldexp(1, -8);
  }
  return 0;
}

/// An upper estimate of how many elements meet in one output element: all of the largest input reduced to this output,
/// or one whole dimension of an input (softmax, norms, matmul).
double reduction_length(const std::vector<task::TensorSpec>& inputs, const task::TensorSpec& output) {
  uint64_t largest = 1;
  int64_t longest = 1;
  for (const auto& input : inputs) {
    largest = std::max(largest, input.elements());
    for (const int64_t dimension : input.shape) longest = std::max(longest, dimension);
  }
  const double folded = static_cast<double>(largest) / static_cast<double>(std::max<uint64_t>(1, output.elements()));
  return std::max(folded, static_cast<double>(longest));
}

/// An honest fp32 kernel may sum serially where torch sums pairwise or in double, so its error may exceed the
/// reference's by the square root of the length (pitfalls P02), and for long sums by the length itself, because terms
/// below half a unit of the sum are lost one by one: serial sums of 1024 exponentials were seen at an rms of 1e-6, of
/// 50257 at 6e-5. That part ends at a sixth of tf32's unit roundoff, so that one precision step down (an rms of a
/// quarter of it and more) still shows. Narrower dtypes accumulate in fp32: rounding of the result dominates and length
/// does not enter.
TensorError floor_of(task::Precision precision, double length) {
  const double unit = unit_roundoff(precision);
  if (precision != task::Precision::kFp32) return {unit, unit / 2};
  const double longest = unit_roundoff(task::Precision::kTf32) / 6 / (kRmsErrorMultiple * unit);
  const double growth = std::max({1.0, std::sqrt(length) / 4, std::min(length / 128, longest)});
  return {4 * unit * growth, unit * growth};
}

Bound scaled(const TensorError& own, const TensorError& least, double extra_own) {
  // The reference errs infinitely where the truth is all zeros and it is not; nothing of that is nothing.
  const auto extra = [&](double error) { return extra_own > 0 ? extra_own * error : 0; };
  return {kMaxErrorMultiple * std::max(own.max, least.max) + extra(own.max),
          kRmsErrorMultiple * std::max(own.rms, least.rms) + extra(own.rms)};
}

}  // namespace

Tolerance::Tolerance(task::Precision precision, const std::vector<task::TensorSpec>& inputs,
                     const std::vector<task::TensorSpec>& outputs)
    : own_(outputs.size()) {
  for (const auto& output : outputs) floor_.push_back(floor_of(precision, reduction_length(inputs, output)));
}

void Tolerance::calibrate(size_t output, const TensorError& own) {
  own_[output].max = std::max(own_[output].max, own.max);
  own_[output].rms = std::max(own_[output].rms, own.rms);
}

Bound Tolerance::against_truth(size_t output) const { return scaled(own_[output], floor_[output], 0); }
Bound Tolerance::against_eager(size_t output) const { return scaled(own_[output], floor_[output], 1); }

}  // namespace ww::judge
