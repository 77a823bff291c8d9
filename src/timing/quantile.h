// SPDX-License-Identifier: Apache-2.0
//
// Quantiles with linear interpolation between order statistics, shared by the module's estimators.
#pragma once

#include <vector>

namespace ww::timing {

/// Position (size - 1) * q in ascending order, interpolated. Requires: not empty, 0 <= q <= 1. Takes a copy to reorder.
double quantile(std::vector<double> values, double q);

}  // namespace ww::timing
