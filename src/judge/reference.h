// SPDX-License-Identifier: Apache-2.0
//
// One task's reference at work: a referee child with every workload loaded, and the arenas it shares with the judge.
// The runner can map none of this. Spans are in the judge's mapping; touch them only while the child is stopped or has
// answered its last request. What goes wrong after opening is a Fault (the task was admitted): no_verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/shared_memory.h"
#include "judge/lent_memory.h"
#include "judge/measurement.h"
#include "judge/referee_client.h"
#include "judge/tolerance.h"
#include "task/task.h"

namespace ww::judge {

/// How one trial's data are drawn. No seed: the present inputs or weights stay.
struct Draw {
  std::optional<uint64_t> input_seed;
  std::optional<uint64_t> weight_seed;
  std::string pattern = "source";
};

class Reference {
 public:
  /// Loads all workloads. `check` also asks the slow admission questions. An Error says why the task is refused, with
  /// the workload. `limit` is the wall time for all of it. Throws Fault.
  static Result<std::unique_ptr<Reference>> open(RefereeParent& parent, const task::Task& task, int threads, bool check,
                                                 milliseconds limit);

  size_t workloads() const { return workloads_.size(); }
  const WorkloadBuffers& buffers(size_t workload) const { return workloads_[workload].buffers; }
  /// The referee's `load` reply (docs/formats/referee.md).
  const Json& description(size_t workload) const { return *workloads_[workload].loaded.reply; }
  /// What is staged and flushed before a timed call of the reference, bytes.
  uint64_t staged_bytes(size_t workload) const { return workloads_[workload].staged_bytes; }
  const std::vector<std::string>& straws(size_t workload) const { return workloads_[workload].loaded.straws; }

  std::span<const std::byte> input(size_t workload, size_t index) const;
  std::span<const std::byte> weight(size_t workload, size_t index) const;
  std::span<const std::byte> expected(size_t workload, size_t index) const;
  /// fp64; empty for integer outputs, or where the last expect() had no truth.
  std::span<const std::byte> truth(size_t workload, size_t index) const;
  std::span<const std::byte> other(size_t workload, size_t index) const;

  void draw(size_t workload, const Draw& draw);
  /// Eager into expected(), fp64 into truth() if asked and possible. False: the reference is not finite on this draw.
  bool expect(size_t workload, bool truth);
  bool has_truth(size_t workload) const { return workloads_[workload].has_truth; }
  /// One measured call, every arena region flushed; leaves the child stopped.
  timing::Clocked timed(size_t workload, Side side);
  /// What the last timed call returned, into expected() or other(). Afterwards buffers that it wrote are as before it.
  void collect(size_t workload, RefereeRegion into = RefereeRegion::kExpected);
  /// A straw's outputs into other(); the reason where it does not apply.
  std::optional<std::string> straw(size_t workload, const std::string& name);
  /// Compiles that baseline for this workload, once. Returns what is worth telling (graph breaks), if anything.
  std::optional<std::string> compile(size_t workload, Side side);
  Json graph(size_t workload);
  /// Floating-point operations of one forward: matrix products, convolutions and attention, as torch counts them; 0
  /// where it cannot.
  double flops(size_t workload);

  /// Room for what calibration.h finds out once for each workload.
  std::optional<Tolerance>& kept_tolerance(size_t workload) { return workloads_[workload].tolerance; }

  /// Verified; the child then uses no processor.
  void stop();

 private:
  struct Workload {
    std::string name;
    WorkloadBuffers buffers;
    Loaded loaded;
    device::SharedMemory arena;
    RefereeLayout offsets;
    uint64_t staged_bytes = 0;  ///< of the arena's front: inputs, weights, expected
    bool has_truth = false;
    bool compiled = false, compiled_max = false;
    std::optional<Tolerance> tolerance;
  };
  Reference() = default;
  void lay_out(Workload& workload);
  std::span<const std::byte> bytes(const Workload& workload, const RefereeLayout::Offsets& offsets, size_t index,
                                   uint64_t count) const;

  std::unique_ptr<RefereeChild> child_;
  std::vector<Workload> workloads_;
  uint64_t sequence_ = 0;
};

}  // namespace ww::judge
