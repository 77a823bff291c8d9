// SPDX-License-Identifier: Apache-2.0
#include "judge/call_tables.h"

#include <algorithm>
#include <cstring>

#include "base/fault.h"

namespace ww::judge {
namespace {

constexpr size_t kAlignment = 16;

DLDataType data_type(task::DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * task::bytes_per_element(dtype));
  switch (dtype) {
    case task::DType::kFloat64:
    case task::DType::kFloat32:
    case task::DType::kFloat16:
      return {kDLFloat, bits, 1};
    case task::DType::kBfloat16:
      return {kDLBfloat, bits, 1};
    case task::DType::kInt64:
    case task::DType::kInt32:
    case task::DType::kInt16:
    case task::DType::kInt8:
      return {kDLInt, bits, 1};
    case task::DType::kUInt8:
      return {kDLUInt, bits, 1};
    case task::DType::kBool:
      return {kDLBool, bits, 1};
  }
  WW_CHECK(false, "a type without a DLPack code");
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

}  // namespace

uint64_t CallTables::append(const void* data, size_t size) {
  const size_t from = (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
  // An empty shape has an address too.
  bytes_.resize(from + std::max<size_t>(size, 1));
  if (size > 0) std::memcpy(bytes_.data() + from, data, size);
  return base_ + from;
}

uint64_t CallTables::add_tensor(const task::TensorSpec& spec, uint64_t address) {
  const std::vector<int64_t> strides = contiguous_strides(spec.shape);
  DLTensor tensor{};
  tensor.data = reinterpret_cast<void*>(address);
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(spec.shape.size());
  tensor.dtype = data_type(spec.dtype);
  tensor.shape = reinterpret_cast<int64_t*>(append(spec.shape.data(), spec.shape.size() * sizeof(int64_t)));
  tensor.strides = reinterpret_cast<int64_t*>(append(strides.data(), strides.size() * sizeof(int64_t)));
  return append(&tensor, sizeof tensor);
}

ww_tensors CallTables::add(const TableList& list) {
  std::vector<uint64_t> names, items;
  for (size_t i = 0; i < list.specs.size(); i++) {
    const task::TensorSpec& spec = *list.specs[i];
    names.push_back(append(spec.name.c_str(), spec.name.size() + 1));
    items.push_back(spec.none ? 0 : add_tensor(spec, list.addresses[i]));
  }
  ww_tensors tensors{};
  tensors.count = static_cast<int32_t>(list.specs.size());
  tensors.names = reinterpret_cast<const char* const*>(append(names.data(), names.size() * sizeof(uint64_t)));
  tensors.items = reinterpret_cast<DLTensor* const*>(append(items.data(), items.size() * sizeof(uint64_t)));
  return tensors;
}

}  // namespace ww::judge
