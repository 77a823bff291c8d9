// SPDX-License-Identifier: Apache-2.0
//
// What a tensor is, without its data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ww::task {

enum class DType { kFloat64, kFloat32, kFloat16, kBfloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool };

/// "float32", "bfloat16", "int64", "bool" ...: torch's names without the "torch." prefix.
std::string_view name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view text);
uint64_t bytes_per_element(DType dtype);
bool is_floating(DType dtype);

/// One argument, weight or output. `none` is an argument that was None: no data, a NULL item for the solution.
/// A Python number or bool is a 0-dimensional tensor with `scalar` set (int64, float64, bool).
struct TensorSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
  bool none = false;
  bool scalar = false;

  uint64_t elements() const;  ///< 1 for 0-dimensional, 0 if any dimension is 0 or `none`
  uint64_t bytes() const;     ///< contiguous
};

Json to_json(const TensorSpec& spec);
Result<TensorSpec> tensor_spec_from_json(const Json& json);

}  // namespace ww::task
