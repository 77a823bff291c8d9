// SPDX-License-Identifier: Apache-2.0
//
// One of get_init_inputs() as a solution sees it. Plain data.
#pragma once

#include <cstddef>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "task/tensor.h"

namespace ww::judge {

/// A number (0-dimensional) or a list of numbers (1-dimensional).
struct InitValue {
  task::TensorSpec spec;
  std::vector<std::byte> data;  ///< spec.bytes()
};

/// From the referee's `{"name", "value"}`: bool, int64 or float64; a list takes the widest of its items' types.
Result<InitValue> init_value_from_json(const Json& json);

}  // namespace ww::judge
