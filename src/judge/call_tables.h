// SPDX-License-Identifier: Apache-2.0
//
// The lists that a ww_call points to (names, DLTensors, shapes, strides), written for another process's addresses. They
// lie in memory that the solution can only read: a call cannot change what the next one is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "judge/init_value.h"
#include "task/tensor.h"
#include "warpwright/solution.h"

namespace ww::judge {

/// One list of a call: what the tensors are, and where their data lies in the runner (0: a null data pointer).
struct TableList {
  std::vector<const task::TensorSpec*> specs;
  std::vector<uint64_t> addresses;
};

class CallTables {
 public:
  /// `base`: where bytes() will lie in the runner.
  explicit CallTables(uint64_t base) : base_(base) {}

  /// Appends a list; the result's pointers are the runner's and must not be followed here.
  ww_tensors add(const TableList& list);
  /// The same number of bytes for the same specs, whatever the addresses.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  uint64_t append(const void* data, size_t size);
  uint64_t add_tensor(const task::TensorSpec& spec, uint64_t address);

  uint64_t base_;
  std::vector<std::byte> bytes_;
};

}  // namespace ww::judge
