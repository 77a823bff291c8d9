// SPDX-License-Identifier: Apache-2.0
//
// The memory that a native runner works on. Two sealed arenas: one that the runner can only map read-only (inputs,
// weights, init values, and the ww_call tables that describe them), one that it can write (outputs, packed, workspace).
// Every buffer is 256-byte aligned, ends within 255 bytes of a guard page of the runner's mapping, and has canaries
// around it. All spans are in the judge's own mapping. Touch them only while the runner is stopped. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "device/shared_memory.h"
#include "task/tensor.h"

namespace ww::judge {

/// One of get_init_inputs() that is a number (0-dimensional) or a list of numbers (1-dimensional).
struct InitValue {
  task::TensorSpec spec;
  std::vector<std::byte> data;  ///< spec.bytes()
};

/// From the referee's `{"name", "value"}`: int64, float64 or bool; a mixed list is float64.
Result<InitValue> init_value_from_json(const Json& json);

/// One workload as the solution sees it.
struct WorkloadBuffers {
  std::string name;
  std::vector<task::TensorSpec> inputs;
  std::vector<task::TensorSpec> weights;
  std::vector<task::TensorSpec> outputs;  ///< what forward returns; then the mutated buffers, by their weight's name
  size_t mutated = 0;                     ///< how many of the last `outputs` are mutated buffers
  std::vector<InitValue> init;
};

/// The buffers of one workload. A mutated buffer is one memory: weight(j) and output(k, any) are the same span.
/// Spans of `none` tensors and of empty ones are empty.
class LentWorkload {
 public:
  /// 2, or 1 where the buffers are too large to be held twice. A placement is 0 <= p < placements().
  int placements() const;
  std::span<std::byte> input(size_t index, int placement);
  std::span<std::byte> weight(size_t index);
  std::span<std::byte> output(size_t index, int placement);
  bool is_mutated(size_t output_index) const;

  /// Fills the outputs (mutated buffers excepted: those hold what the judge stages) with signalling NaN or, for
  /// integers, noise; the pattern differs with `salt`.
  void poison(int placement, uint64_t salt);
  /// What a call may read or write, for flushing.
  std::vector<std::span<const std::byte>> regions(int placement) const;

 private:
  friend class LentMemory;
  struct Buffer {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool writable = false;
    task::DType dtype = task::DType::kFloat32;
    std::string name;
  };
  std::span<std::byte> span(const Buffer& buffer) const;

  class LentMemory* memory_ = nullptr;
  std::vector<Buffer> inputs_[2];
  std::vector<Buffer> weights_;
  std::vector<Buffer> outputs_[2];
  std::vector<Buffer> init_;
  size_t mutated_ = 0;
  int placements_ = 2;
};

}  // namespace ww::judge
