// SPDX-License-Identifier: Apache-2.0
//
// The memory that a native runner works on. Two sealed arenas: one that the runner can only map read-only (inputs,
// weights, init values, the call block and the tables that describe them), one that it can write (outputs, mutated
// buffers, packed, workspace). Every buffer is 256-byte aligned, ends within 255 bytes of a guard page of the runner's
// mapping, and, where it is writable, has canaries around it. All spans are in the judge's own mapping. Touch them only
// while the runner is stopped. Single-threaded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/shared_memory.h"
#include "judge/init_value.h"
#include "judge/runner/wire.h"
#include "task/tensor.h"

namespace ww::judge {

/// One workload as the solution sees it.
struct WorkloadBuffers {
  std::string name;
  std::vector<task::TensorSpec> inputs;
  std::vector<task::TensorSpec> weights;
  std::vector<task::TensorSpec> outputs;  ///< what forward returns; then the mutated buffers, by their weight's name
  size_t mutated = 0;                     ///< how many of the last `outputs` are mutated buffers
  std::vector<InitValue> init;
};

/// One buffer of an arena, without slack.
struct LentBuffer {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool writable = false;  ///< which arena
  task::DType dtype = task::DType::kFloat32;
  std::string name;  ///< "output out", for messages
};

class LentMemory;

/// The buffers of one workload. A mutated buffer is one memory: weight(j) and output(k, any) are the same span.
/// Spans of `none` tensors and of empty ones are empty. Lives as long as its Runner.
class LentWorkload {
 public:
  /// 2, or 1 where the buffers are too large to be held twice. A placement is 0 <= p < placements().
  int placements() const { return placements_; }
  std::span<std::byte> input(size_t index, int placement);
  std::span<std::byte> weight(size_t index);
  std::span<std::byte> output(size_t index, int placement);
  bool is_mutated(size_t output_index) const;

  /// Fills the outputs (mutated buffers excepted: those hold what the judge stages) with NaN or, for integers, noise;
  /// the pattern differs with `salt`. Runner::forward does this before `stage`.
  void poison(int placement, uint64_t salt);

 private:
  friend class LentMemory;
  LentMemory* memory_ = nullptr;
  int placements_ = 1;
  size_t mutated_ = 0;
  std::vector<LentBuffer> inputs_[2];
  std::vector<LentBuffer> weights_;
  std::vector<LentBuffer> outputs_[2];
  std::vector<LentBuffer> init_;
};

struct ScratchSizes {
  uint64_t packed = 0;
  uint64_t workspace = 0;
};

/// Which data pointers a ww_call carries: all, at one of the placements; weights and init only; init only.
enum class CallKind { kPlacement0, kPlacement1, kPrepare, kSizes };

/// Both arenas of a runner, and what the judge writes there. Used by Runner and ClockTwin.
class LentMemory {
 public:
  struct Limits {
    uint64_t scratch_bytes;  ///< packed and workspace, each
    uint64_t twice_bytes;    ///< a workload's inputs and outputs are held twice where both copies fit in
  };
  /// Throws Fault.
  LentMemory(std::vector<WorkloadBuffers> workloads, const Limits& limits);
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  const device::SharedMemory& read_only() const { return read_only_; }
  const device::SharedMemory& writable() const { return writable_; }
  LentWorkload& workload(size_t index) { return *workloads_.at(index); }
  size_t workload_count() const { return workloads_.size(); }

  wire::CallBlock& block();
  /// A copy whose text ends with NUL. Take it only while the runner is stopped.
  wire::Report report() const;

  /// Writes the tables, for a runner that mapped the arenas at `bases`. Before this, call() has no meaning.
  void write_tables(const uint64_t (&bases)[2]);
  /// Addresses are the runner's. Packed and workspace as set_scratch() left them; none of both for kSizes.
  ww_call call(size_t workload, CallKind kind, int32_t config, int32_t threads) const;

  /// Gives packed and workspace these sizes and fresh poisoned memory. Requires: each within Limits::scratch_bytes.
  void set_scratch(const ScratchSizes& sizes, uint64_t salt);
  void poison_workspace(uint64_t salt);

  /// Writes the canaries around what a call may write.
  void paint_canaries(size_t workload, int placement, uint64_t salt);
  /// One text a broken canary: "output out: 3 bytes after its end".
  std::vector<std::string> broken_canaries(size_t workload, int placement, uint64_t salt) const;
  /// What a call may read or write, for flushing.
  std::vector<std::span<const std::byte>> regions(size_t workload, int placement) const;

 private:
  friend class LentWorkload;
  struct Canary {
    uint64_t offset;
    uint64_t bytes;
    bool before;
    const LentBuffer* buffer;
  };
  std::unique_ptr<LentWorkload> lay_out(const WorkloadBuffers& spec, class ArenaLayout& read_only,
                                        class ArenaLayout& writable);
  std::span<std::byte> span(const LentBuffer& buffer);
  std::span<const std::byte> span(const LentBuffer& buffer) const;
  uint64_t address(const LentBuffer& buffer) const;
  std::vector<Canary> canaries(size_t workload, int placement) const;
  std::array<ww_call, 4> tables_of(size_t workload, class CallTables& tables) const;

  std::vector<WorkloadBuffers> specs_;
  std::vector<std::unique_ptr<LentWorkload>> workloads_;
  LentBuffer packed_{.writable = true, .name = "packed"};
  LentBuffer workspace_{.writable = true, .name = "workspace"};
  Limits limits_;
  uint64_t packed_end_ = 0;  ///< scratch buffers end here, whatever their size
  uint64_t workspace_end_ = 0;
  uint64_t tables_offset_ = 0;  ///< in the read-only arena
  uint64_t tables_bytes_ = 0;
  uint64_t bases_[2] = {};
  std::vector<std::array<ww_call, 4>> calls_;
  device::SharedMemory read_only_;
  device::SharedMemory writable_;
};

}  // namespace ww::judge
