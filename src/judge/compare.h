// SPDX-License-Identifier: Apache-2.0
//
// Comparison of one output with what was expected. Pure; reads both buffers once or twice, allocates nothing.
//
// The error of an element is |got - expected| / (rms + |expected|), rms being that of the expected tensor's finite
// elements: scaled by the output's own size, so that zeros never pass for small outputs (KernelBench issue 165), and
// never tighter than the dtype's relative rounding for large ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "task/tensor.h"

namespace ww::judge {

/// Scaled errors of a tensor: the worst element's, and root mean square over all elements (relative to rms).
struct TensorError {
  double max = 0;
  double rms = 0;
};

/// What is allowed. Integers and bools are always compared exactly.
using Bound = TensorError;

struct Mismatch {
  uint64_t index;  ///< row-major element index
  double expected;
  double got;
};

struct Comparison {
  bool ok = true;
  TensorError error;
  double worst = 0;    ///< the larger of error.max / bound.max and error.rms / bound.rms; infinite if unequal integers
  uint64_t wrong = 0;  ///< elements over bound.max
  std::optional<Mismatch> first;  ///< the first of them, or the worst element if only the rms bound is broken
};

/// `expected` holds `spec.elements()` elements of `expected_dtype` (float64 for truths, else the spec's own), `got` as
/// many of `spec.dtype`. A non-finite expected element asks for the same one; a non-finite `got` elsewhere is wrong.
Comparison compare(const task::TensorSpec& spec, const std::byte* expected, task::DType expected_dtype,
                   const std::byte* got, const Bound& bound);

}  // namespace ww::judge
