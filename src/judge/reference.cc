// SPDX-License-Identifier: Apache-2.0
#include "judge/reference.h"

#include <algorithm>

#include "base/json.h"
#include "device/cpu.h"
#include "judge/clocks.h"

namespace ww::judge {
namespace {

constexpr nanoseconds kRequestLimit = seconds(60);
constexpr nanoseconds kCompileLimit = seconds(180);
constexpr uint64_t kAlignment = 256;  // docs/formats/solution.md: buffers are 256-byte aligned

/// An admitted task's reference failed: nothing that the solution did.
[[noreturn]] void lost(const std::string& request, const Error& error) {
  throw Fault(Fault::Kind::kProtocol, "the reference failed in " + request + ": " + error.text());
}

template <class T>
T take(Result<T> result, const std::string& request) {
  if (!result) lost(request, result.error());
  return std::move(*result);
}

RefereeSide referee_side(Side side) {
  switch (side) {
    case Side::kEager:
      return RefereeSide::kEager;
    case Side::kCompile:
      return RefereeSide::kCompile;
    case Side::kCompileMax:
      return RefereeSide::kCompileMax;
    case Side::kSolution:
      break;
  }
  WW_CHECK(false, "the referee does not time solutions");
  return RefereeSide::kSpin;
}

/// Places tensors one after the other in an arena.
class Layout {
 public:
  std::optional<uint64_t> place(const task::TensorSpec& spec, uint64_t bytes) {
    if (spec.none) return std::nullopt;
    const uint64_t offset = end_;
    end_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  RefereeLayout::Offsets place_all(const std::vector<task::TensorSpec>& specs) {
    RefereeLayout::Offsets offsets;
    for (const auto& spec : specs) offsets.push_back(place(spec, spec.bytes()));
    return offsets;
  }
  uint64_t bytes() const { return std::max<uint64_t>(end_, 1); }

 private:
  uint64_t end_ = 0;
};

Result<WorkloadBuffers> buffers_of(const std::string& name, const Loaded& loaded) {
  WorkloadBuffers buffers{.name = name,
                          .inputs = loaded.inputs,
                          .weights = loaded.weights,
                          .outputs = loaded.outputs,
                          .mutated = loaded.mutates.size(),
                          .init = {}};
  for (const Json& item : loaded.reply->value("init", Json::array())) {
    auto value = init_value_from_json(item);
    if (!value) return value.error();
    buffers.init.push_back(std::move(*value));
  }
  return buffers;
}

}  // namespace

Result<std::unique_ptr<Reference>> Reference::open(RefereeParent& parent, const task::Task& task, int threads,
                                                   bool check, milliseconds limit) {
  const nanoseconds deadline = now() + limit;
  std::unique_ptr<Reference> made(new Reference);
  made->child_ = parent.open(threads);
  for (const task::Workload& workload : task.workloads) {
    LoadRequest request{.workload = workload.name,
                        .filename = task.source_path.filename().string(),
                        .source = task.source,
                        .set = workload.set,
                        .contract = task.contract,
                        .check = check};
    auto loaded = made->child_->load(request, std::max<nanoseconds>(deadline - now(), milliseconds(1)));
    if (!loaded) return Error{"workload " + workload.name + ": " + loaded.error().message, loaded.error().where};
    auto buffers = buffers_of(workload.name, *loaded);
    if (!buffers) return buffers.error();
    Workload& kept = made->workloads_.emplace_back();
    kept.name = workload.name;
    kept.buffers = std::move(*buffers);
    kept.loaded = std::move(*loaded);
    made->lay_out(kept);
  }
  return made;
}

void Reference::lay_out(Workload& workload) {
  Layout layout;
  RefereeLayout& offsets = workload.offsets;
  offsets.inputs = layout.place_all(workload.buffers.inputs);
  offsets.weights = layout.place_all(workload.buffers.weights);
  offsets.expected = layout.place_all(workload.buffers.outputs);
  workload.staged_bytes = layout.bytes();
  for (const auto& spec : workload.buffers.outputs) {
    const bool floating = task::is_floating(spec.dtype);
    offsets.truth.push_back(floating ? layout.place(spec, spec.elements() * sizeof(double)) : std::nullopt);
  }
  offsets.other = layout.place_all(workload.buffers.outputs);
  workload.arena = device::SharedMemory("ww-reference", layout.bytes());
  take(child_->attach(workload.name, offsets, workload.arena.fd(), kRequestLimit), "attach");
}

std::span<const std::byte> Reference::bytes(const Workload& workload, const RefereeLayout::Offsets& offsets,
                                            size_t index, uint64_t count) const {
  if (!offsets[index] || count == 0) return {};
  return {workload.arena.data() + *offsets[index], count};
}

std::span<const std::byte> Reference::input(size_t workload, size_t index) const {
  const Workload& w = workloads_[workload];
  return bytes(w, w.offsets.inputs, index, w.buffers.inputs[index].bytes());
}

std::span<const std::byte> Reference::weight(size_t workload, size_t index) const {
  const Workload& w = workloads_[workload];
  return bytes(w, w.offsets.weights, index, w.buffers.weights[index].bytes());
}

std::span<const std::byte> Reference::expected(size_t workload, size_t index) const {
  const Workload& w = workloads_[workload];
  return bytes(w, w.offsets.expected, index, w.buffers.outputs[index].bytes());
}

std::span<const std::byte> Reference::truth(size_t workload, size_t index) const {
  const Workload& w = workloads_[workload];
  if (!w.has_truth) return {};
  return bytes(w, w.offsets.truth, index, w.buffers.outputs[index].elements() * sizeof(double));
}

std::span<const std::byte> Reference::other(size_t workload, size_t index) const {
  const Workload& w = workloads_[workload];
  return bytes(w, w.offsets.other, index, w.buffers.outputs[index].bytes());
}

void Reference::draw(size_t workload, const Draw& draw) {
  resume(child_->endpoint());
  const DrawRequest request{.input_seed = draw.input_seed, .weight_seed = draw.weight_seed, .pattern = draw.pattern};
  take(child_->draw(workloads_[workload].name, request, kRequestLimit), "draw");
}

bool Reference::expect(size_t workload, bool truth) {
  resume(child_->endpoint());
  Workload& w = workloads_[workload];
  const Expectation expectation = take(child_->expect(w.name, truth, kRequestLimit), "expect");
  w.has_truth = expectation.truth_available;
  return expectation.finite;
}

timing::Clocked Reference::timed(size_t workload, Side side) {
  resume(child_->endpoint());
  const Workload& w = workloads_[workload];
  sequence_++;
  take(child_->stage(w.name, referee_side(side), sequence_, nanoseconds(0), kRequestLimit), "stage");
  // Inputs, weights and expected outputs lie in front: what a call reads, or has just had read.
  const std::span<const std::byte> staged{w.arena.data(), w.staged_bytes};
  const CallTimes times = timed_call(
      child_->endpoint(), sequence_,
      [&] {
        device::flush_caches({&staged, 1});
      },
      kRequestLimit);
  if (times.end != CallEnd::kDone || times.status != 0) {
    throw Fault(Fault::Kind::kProtocol, "the reference did not finish a timed call of workload " + w.name);
  }
  return clocked(times);
}

void Reference::collect(size_t workload, RefereeRegion into) {
  resume(child_->endpoint());
  Workload& w = workloads_[workload];
  take(child_->collect(w.name, into, kRequestLimit), "collect");
  if (into == RefereeRegion::kExpected) w.has_truth = false;
}

std::optional<std::string> Reference::straw(size_t workload, const std::string& name) {
  resume(child_->endpoint());
  return take(child_->straw(workloads_[workload].name, name, kRequestLimit), "straw " + name);
}

std::optional<std::string> Reference::compile(size_t workload, Side side) {
  Workload& w = workloads_[workload];
  bool& done = side == Side::kCompile ? w.compiled : w.compiled_max;
  if (done) return std::nullopt;
  resume(child_->endpoint());
  const Compiled compiled = take(child_->compile(w.name, referee_side(side), kCompileLimit), "compile");
  done = true;
  if (compiled.breaks == 0 && compiled.recompiles == 0) return std::nullopt;
  return "torch.compile made " + std::to_string(compiled.graphs) + " graphs with " + std::to_string(compiled.breaks) +
         " breaks and " + std::to_string(compiled.recompiles) + " recompilations";
}

Json Reference::graph(size_t workload) {
  resume(child_->endpoint());
  return take(child_->capture(workloads_[workload].name, kRequestLimit), "capture");
}

double Reference::flops(size_t workload) {
  resume(child_->endpoint());
  const auto counted = child_->flops(workloads_[workload].name, kRequestLimit);
  return counted ? *counted : 0;
}

void Reference::stop() {
  if (!judge::stop(child_->endpoint())) throw Fault(Fault::Kind::kProtocol, "the reference's process ended");
}

}  // namespace ww::judge
