// SPDX-License-Identifier: Apache-2.0
#include "task/tensor.h"

#include <array>
#include <limits>

#include "base/json.h"

namespace ww::task {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  uint64_t bytes;
  bool floating;
};

constexpr std::array<Row, 10> kRows = {{{DType::kFloat64, "float64", 8, true},
                                        {DType::kFloat32, "float32", 4, true},
                                        {DType::kFloat16, "float16", 2, true},
                                        {DType::kBfloat16, "bfloat16", 2, true},
                                        {DType::kInt64, "int64", 8, false},
                                        {DType::kInt32, "int32", 4, false},
                                        {DType::kInt16, "int16", 2, false},
                                        {DType::kInt8, "int8", 1, false},
                                        {DType::kUInt8, "uint8", 1, false},
                                        {DType::kBool, "bool", 1, false}}};

const Row& row(DType dtype) {
  for (const Row& candidate : kRows) {
    if (candidate.dtype == dtype) return candidate;
  }
  WW_CHECK(false, "a data type outside the table");
  __builtin_unreachable();
}

// Beyond this no machine has memory, and products of sizes stay far from overflow.
constexpr uint64_t kMaximumBytes = uint64_t{1} << 48;

Result<std::vector<int64_t>> shape_from_json(const Json& json, uint64_t element_bytes, const std::string& where) {
  std::vector<int64_t> shape;
  uint64_t elements = 1;
  for (const Json& item : json) {
    if (!item.is_number_integer() || item.get<int64_t>() < 0) return Error{"a size that is not a whole number", where};
    shape.push_back(item.get<int64_t>());
    const uint64_t size = static_cast<uint64_t>(shape.back());
    if (size > 0 && elements > kMaximumBytes / element_bytes / size) return Error{"a tensor that is too large", where};
    elements *= size;
  }
  return shape;
}

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view text) {
  for (const Row& candidate : kRows) {
    if (candidate.name == text) return candidate.dtype;
  }
  return std::nullopt;
}

uint64_t bytes_per_element(DType dtype) { return row(dtype).bytes; }

bool is_floating(DType dtype) { return row(dtype).floating; }

uint64_t TensorSpec::elements() const {
  if (none) return 0;
  uint64_t count = 1;
  for (const int64_t size : shape) count *= static_cast<uint64_t>(size);
  return count;
}

uint64_t TensorSpec::bytes() const { return elements() * bytes_per_element(dtype); }

Json to_json(const TensorSpec& spec) {
  Json json = {{"name", spec.name}, {"dtype", name(spec.dtype)}, {"shape", spec.shape}};
  if (spec.none) json["none"] = true;
  if (spec.scalar) json["scalar"] = true;
  return json;
}

Result<TensorSpec> tensor_spec_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) {
    return Error{"a tensor without a name", ""};
  }
  TensorSpec spec;
  spec.name = json["name"].get<std::string>();
  if (!json.contains("dtype") || !json["dtype"].is_string()) return Error{"no data type", spec.name};
  const std::string dtype_name = json["dtype"].get<std::string>();
  const std::optional<DType> dtype = dtype_from_name(dtype_name);
  if (!dtype) return Error{"unknown data type " + dtype_name, spec.name};
  spec.dtype = *dtype;
  if (!json.contains("shape") || !json["shape"].is_array()) return Error{"no shape", spec.name};
  auto shape = shape_from_json(json["shape"], bytes_per_element(spec.dtype), spec.name);
  if (!shape) return shape.error();
  spec.shape = std::move(*shape);
  for (const char* key : {"none", "scalar"}) {
    if (json.contains(key) && !json[key].is_boolean())
      return Error{std::string(key) + " is not true or false", spec.name};
  }
  spec.none = json.contains("none") && json["none"].get<bool>();
  spec.scalar = json.contains("scalar") && json["scalar"].get<bool>();
  return spec;
}

}  // namespace ww::task
