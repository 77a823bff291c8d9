// SPDX-License-Identifier: Apache-2.0
//
// Text that emitted sources carry with them, so that a solution stands alone.
#pragma once

#include <string_view>

namespace ww::writer {

/// namespace math: branch-free float functions of 1 to 2 ulp that vectorise inside `omp simd` loops.
extern const std::string_view kMathPrelude;
/// Rows over threads, streaming stores, running sums, lookup of tensors by name.
extern const std::string_view kLoopPrelude;
/// Matrix products and convolutions through oneDNN: primitives made once, memory bound at every call.
extern const std::string_view kDnnlPrelude;

}  // namespace ww::writer
