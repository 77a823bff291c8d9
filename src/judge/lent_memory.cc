// SPDX-License-Identifier: Apache-2.0
#include "judge/lent_memory.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "base/fault.h"
#include "judge/arena_layout.h"
#include "judge/call_tables.h"

namespace ww::judge {
namespace {

/// splitmix64: salts differ in few bits, patterns in about half.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15ull;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

/// `bits` wide copies of `value` side by side.
uint64_t repeat(uint64_t value, int bits) {
  uint64_t word = 0;
  for (int shift = 0; shift < 64; shift += bits) word |= value << shift;
  return word;
}

/// A signalling NaN whose payload differs with the salt; for other types noise.
uint64_t poison_word(task::DType dtype, uint64_t salt) {
  const uint64_t noise = mix(salt);
  switch (dtype) {
    case task::DType::kFloat64:
      return 0x7ff4000000000000ull | (noise & 0x3ffffffffffffull);
    case task::DType::kFloat32:
      return repeat(0x7fa00000ull | (noise & 0x1fffff), 32);
    case task::DType::kFloat16:
      return repeat(0x7d00ull | (noise & 0xff), 16);
    case task::DType::kBfloat16:
      return repeat(0x7fa0ull | (noise & 0x1f), 16);
    default:
      return noise;
  }
}

void fill(std::span<std::byte> target, uint64_t word) {
  std::array<uint64_t, 512> block;
  block.fill(word);
  for (size_t done = 0; done < target.size(); done += sizeof block) {
    std::memcpy(target.data() + done, block.data(), std::min(sizeof block, target.size() - done));
  }
}

std::byte canary_byte(uint64_t salt, uint64_t offset) {
  return static_cast<std::byte>(mix(salt ^ mix(offset / 8)) >> (8 * (offset % 8)));
}

uint64_t total_bytes(const std::vector<task::TensorSpec>& specs) {
  uint64_t bytes = 0;
  for (const auto& spec : specs) bytes += spec.bytes();
  return bytes;
}

LentBuffer place(const char* kind, const task::TensorSpec& spec, ArenaLayout& layout, bool writable) {
  LentBuffer buffer{.writable = writable, .dtype = spec.dtype, .name = kind + (" " + spec.name)};
  if (spec.none) return buffer;
  buffer.bytes = spec.bytes();
  buffer.offset = layout.add(buffer.bytes);
  return buffer;
}

}  // namespace

std::span<std::byte> LentWorkload::input(size_t index, int placement) {
  WW_CHECK(placement >= 0 && placement < placements_, "no such placement");
  return memory_->span(inputs_[placement].at(index));
}

std::span<std::byte> LentWorkload::weight(size_t index) { return memory_->span(weights_.at(index)); }

std::span<std::byte> LentWorkload::output(size_t index, int placement) {
  WW_CHECK(placement >= 0 && placement < placements_, "no such placement");
  return memory_->span(outputs_[placement].at(index));
}

bool LentWorkload::is_mutated(size_t output_index) const { return output_index >= outputs_[0].size() - mutated_; }

void LentWorkload::poison(int placement, uint64_t salt) {
  for (size_t i = 0; i < outputs_[0].size() - mutated_; i++) {
    fill(output(i, placement), poison_word(outputs_[placement][i].dtype, salt + i));
  }
}

LentMemory::LentMemory(std::vector<WorkloadBuffers> workloads, const Limits& limits)
    : specs_(std::move(workloads)), limits_(limits) {
  size_t buffers = 0;
  for (const auto& spec : specs_) {
    buffers += 2 * (spec.inputs.size() + spec.outputs.size()) + spec.weights.size() + spec.init.size();
  }
  // Each buffer has one guard, each arena one more at its end, the writable one three for scratch.
  const uint64_t guards_offset = sizeof(wire::CallBlock);
  const uint64_t guards_bytes = (buffers + 5) * sizeof(wire::Guard);
  ArenaLayout read_only(guards_offset + guards_bytes), writable(sizeof(wire::Report));
  for (const auto& spec : specs_) workloads_.push_back(lay_out(spec, read_only, writable));
  // A page more than the limit: canaries lie below the buffer.
  for (uint64_t* end : {&packed_end_, &workspace_end_}) {
    writable.add(limits_.scratch_bytes + device::page_bytes());
    *end = writable.end_of_pages();
  }
  tables_offset_ = read_only.close();
  // Their size does not depend on the addresses, so a first writing tells it.
  CallTables tables(0);
  for (size_t i = 0; i < specs_.size(); i++) tables_of(i, tables);
  tables_bytes_ = tables.bytes().size();
  read_only_ = device::SharedMemory("ww-read-only", tables_offset_ + std::max<uint64_t>(tables_bytes_, 1));
  writable_ = device::SharedMemory("ww-writable", writable.close());
  read_only_.seal_for_others();
  uint64_t next = guards_offset;
  for (int i = 0; i < 2; i++) {
    const auto& guards = i == 0 ? read_only.guards() : writable.guards();
    block().guards[i] = next;
    block().guard_counts[i] = guards.size();
    std::memcpy(read_only_.data() + next, guards.data(), guards.size() * sizeof(wire::Guard));
    next += guards.size() * sizeof(wire::Guard);
  }
  WW_CHECK(next <= guards_offset + guards_bytes, "more guards than room for them");
}

std::unique_ptr<LentWorkload> LentMemory::lay_out(const WorkloadBuffers& spec, ArenaLayout& read_only,
                                                  ArenaLayout& writable) {
  WW_CHECK(spec.mutated <= spec.outputs.size(), "more mutated buffers than outputs");
  auto lent = std::make_unique<LentWorkload>();
  lent->memory_ = this;
  lent->mutated_ = spec.mutated;
  lent->placements_ = 2 * (total_bytes(spec.inputs) + total_bytes(spec.outputs)) <= limits_.twice_bytes ? 2 : 1;
  const size_t own_outputs = spec.outputs.size() - spec.mutated;
  for (int placement = 0; placement < lent->placements_; placement++) {
    for (const auto& input : spec.inputs) {
      lent->inputs_[placement].push_back(place("input", input, read_only, false));
    }
    for (size_t i = 0; i < own_outputs; i++) {
      lent->outputs_[placement].push_back(place("output", spec.outputs[i], writable, true));
    }
  }
  const auto mutated = std::span(spec.outputs).subspan(own_outputs);
  const auto named = [](const std::string& name) { return [&](const task::TensorSpec& s) { return s.name == name; }; };
  for (const auto& weight : spec.weights) {
    const bool in_place = std::any_of(mutated.begin(), mutated.end(), named(weight.name));
    lent->weights_.push_back(place("weight", weight, in_place ? writable : read_only, in_place));
  }
  for (const auto& output : mutated) {
    const auto weight = std::find_if(spec.weights.begin(), spec.weights.end(), named(output.name));
    WW_CHECK(weight != spec.weights.end(), "a mutated buffer is not among the weights");
    for (int placement = 0; placement < lent->placements_; placement++) {
      lent->outputs_[placement].push_back(lent->weights_[static_cast<size_t>(weight - spec.weights.begin())]);
    }
  }
  for (const auto& init : spec.init) lent->init_.push_back(place("init", init.spec, read_only, false));
  return lent;
}

wire::CallBlock& LentMemory::block() { return *reinterpret_cast<wire::CallBlock*>(read_only_.data()); }

wire::Report LentMemory::report() const {
  wire::Report report;
  std::memcpy(&report, writable_.data(), sizeof report);
  report.text[wire::kTextBytes - 1] = '\0';
  return report;
}

std::span<std::byte> LentMemory::span(const LentBuffer& buffer) {
  return (buffer.writable ? writable_ : read_only_).span(buffer.offset, buffer.bytes);
}

std::span<const std::byte> LentMemory::span(const LentBuffer& buffer) const {
  return {(buffer.writable ? writable_ : read_only_).data() + buffer.offset, buffer.bytes};
}

uint64_t LentMemory::address(const LentBuffer& buffer) const { return bases_[buffer.writable] + buffer.offset; }

std::array<ww_call, 4> LentMemory::tables_of(size_t workload, CallTables& tables) const {
  const WorkloadBuffers& spec = specs_[workload];
  const LentWorkload& lent = *workloads_[workload];
  const auto list = [&](const std::vector<task::TensorSpec>& specs, const std::vector<LentBuffer>& buffers, bool data) {
    TableList result;
    for (size_t i = 0; i < specs.size(); i++) {
      result.specs.push_back(&specs[i]);
      result.addresses.push_back(data ? address(buffers[i]) : 0);
    }
    return tables.add(result);
  };
  std::vector<task::TensorSpec> init;
  for (const auto& value : spec.init) init.push_back(value.spec);
  std::array<ww_call, 4> calls{};
  for (const CallKind kind : {CallKind::kPlacement0, CallKind::kPlacement1, CallKind::kPrepare, CallKind::kSizes}) {
    const bool forward = kind == CallKind::kPlacement0 || kind == CallKind::kPlacement1;
    const int placement = kind == CallKind::kPlacement1 && lent.placements_ == 2 ? 1 : 0;
    ww_call& call = calls[static_cast<size_t>(kind)];
    call.struct_size = sizeof(ww_call);
    call.inputs = list(spec.inputs, lent.inputs_[placement], forward);
    call.weights = list(spec.weights, lent.weights_, kind != CallKind::kSizes);
    call.outputs = list(spec.outputs, lent.outputs_[placement], forward);
    call.init = list(init, lent.init_, true);
  }
  return calls;
}

void LentMemory::write_tables(const uint64_t (&bases)[2]) {
  std::copy(std::begin(bases), std::end(bases), bases_);
  CallTables tables(bases_[0] + tables_offset_);
  calls_.clear();
  for (size_t i = 0; i < specs_.size(); i++) {
    calls_.push_back(tables_of(i, tables));
    for (size_t k = 0; k < specs_[i].init.size(); k++) {
      const auto target = span(workloads_[i]->init_[k]);
      const auto& data = specs_[i].init[k].data;
      WW_CHECK(target.size() == data.size(), "an init value whose data and spec differ in size");
      std::copy(data.begin(), data.end(), target.begin());
    }
  }
  WW_CHECK(tables.bytes().size() == tables_bytes_, "tables changed their size");
  std::copy(tables.bytes().begin(), tables.bytes().end(), read_only_.data() + tables_offset_);
}

ww_call LentMemory::call(size_t workload, CallKind kind, int32_t config, int32_t threads) const {
  ww_call call = calls_.at(workload)[static_cast<size_t>(kind)];
  call.config = config;
  call.threads = threads;
  if (kind == CallKind::kSizes) return call;
  if (packed_.bytes > 0) call.packed = reinterpret_cast<void*>(address(packed_));
  if (workspace_.bytes > 0) call.workspace = reinterpret_cast<void*>(address(workspace_));
  return call;
}

void LentMemory::set_scratch(const ScratchSizes& sizes, uint64_t salt) {
  const auto set = [&](LentBuffer& buffer, uint64_t end, uint64_t bytes) {
    WW_CHECK(bytes <= limits_.scratch_bytes, "a scratch buffer over its limit");
    const uint64_t room = round_up(limits_.scratch_bytes + device::page_bytes(), device::page_bytes());
    // Gives back what a larger buffer used before.
    if (::fallocate(writable_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(end - room),
                    static_cast<off_t>(room)) != 0) {
      throw_errno("emptying scratch memory");
    }
    buffer.bytes = bytes;
    buffer.offset = end - round_up(bytes, kBufferAlignment);
    fill(span(buffer), poison_word(task::DType::kFloat32, salt));
  };
  set(packed_, packed_end_, sizes.packed);
  set(workspace_, workspace_end_, sizes.workspace);
}

void LentMemory::poison_workspace(uint64_t salt) { fill(span(workspace_), poison_word(task::DType::kFloat32, salt)); }

std::vector<LentMemory::Canary> LentMemory::canaries(size_t workload, int placement) const {
  std::vector<Canary> canaries;
  const uint64_t page = device::page_bytes();
  const auto add = [&](const LentBuffer& buffer, uint64_t before) {
    canaries.push_back({buffer.offset - before, before, true, &buffer});
    const uint64_t end = buffer.offset + buffer.bytes;
    canaries.push_back({end, round_up(end, page) - end, false, &buffer});
  };
  // An empty tensor's slack is a whole alignment unit; a `none` tensor (offset 0) has no memory.
  for (const auto& buffer : workloads_[workload]->outputs_[placement]) {
    if (buffer.offset != 0) add(buffer, buffer.offset % page);
  }
  for (const LentBuffer* scratch : {&packed_, &workspace_}) {
    if (scratch->bytes > 0) add(*scratch, page);
  }
  return canaries;
}

void LentMemory::paint_canaries(size_t workload, int placement, uint64_t salt) {
  for (const Canary& canary : canaries(workload, placement)) {
    for (uint64_t at = canary.offset; at < canary.offset + canary.bytes; at++) {
      writable_.data()[at] = canary_byte(salt, at);
    }
  }
}

std::vector<std::string> LentMemory::broken_canaries(size_t workload, int placement, uint64_t salt) const {
  std::vector<std::string> broken;
  for (const Canary& canary : canaries(workload, placement)) {
    uint64_t changed = 0;
    for (uint64_t at = canary.offset; at < canary.offset + canary.bytes; at++) {
      changed += writable_.data()[at] != canary_byte(salt, at);
    }
    if (changed == 0) continue;
    broken.push_back(canary.buffer->name + ": " + std::to_string(changed) + " bytes written " +
                     (canary.before ? "before its start" : "after its end"));
  }
  return broken;
}

std::vector<std::span<const std::byte>> LentMemory::regions(size_t workload, int placement) const {
  const LentWorkload& lent = *workloads_[workload];
  std::vector<std::span<const std::byte>> regions;
  for (const auto* list : {&lent.inputs_[placement], &lent.weights_, &lent.outputs_[placement], &lent.init_}) {
    for (const LentBuffer& buffer : *list) regions.push_back(span(buffer));
  }
  regions.push_back(span(packed_));
  regions.push_back(span(workspace_));
  return regions;
}

}  // namespace ww::judge
