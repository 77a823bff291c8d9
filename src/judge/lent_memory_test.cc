// SPDX-License-Identifier: Apache-2.0
#include "judge/lent_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/json.h"
#include "judge/arena_layout.h"

namespace ww::judge {
namespace {

using task::DType;
using task::TensorSpec;
using testing::ElementsAre;
using testing::IsEmpty;

TensorSpec tensor(const std::string& name, std::vector<int64_t> shape, DType dtype = DType::kFloat32) {
  return {.name = name, .dtype = dtype, .shape = std::move(shape)};
}

WorkloadBuffers workload() {
  TensorSpec none = tensor("mask", {});
  none.none = true;
  WorkloadBuffers buffers;
  buffers.name = "default";
  buffers.inputs = {tensor("x", {3, 5}), none, tensor("empty", {0, 4})};
  buffers.weights = {tensor("w", {1000}), tensor("running", {7})};
  buffers.outputs = {tensor("out", {3, 5}), tensor("index", {3}, DType::kInt64), tensor("running", {7})};
  buffers.mutated = 1;
  buffers.init.push_back(*init_value_from_json(Json{{"name", "eps"}, {"value", 1e-5}}));
  return buffers;
}

constexpr LentMemory::Limits kLimits = {.scratch_bytes = 1 << 16, .twice_bytes = 1 << 20};

/// A call as the runner would see it, with the judge's own mapping as the runner's.
ww_call call_in_place(LentMemory& memory, CallKind kind) {
  memory.write_tables(
      {reinterpret_cast<uint64_t>(memory.read_only().data()), reinterpret_cast<uint64_t>(memory.writable().data())});
  return memory.call(0, kind, 2, 4);
}

std::string text_of(const ww_tensors& tensors) {
  std::string text;
  for (int i = 0; i < tensors.count; i++) {
    text += std::string(tensors.names[i]) + (tensors.items[i] ? "" : "(null)") + " ";
  }
  return text;
}

TEST(LentMemory, EveryBufferIsAlignedAndEndsAtAGuardPage) {
  LentMemory memory({workload()}, kLimits);
  const ww_call call = call_in_place(memory, CallKind::kPlacement0);
  const wire::CallBlock& block = memory.block();
  const auto* guards = reinterpret_cast<const wire::Guard*>(memory.read_only().data() + block.guards[0]);
  const auto data = reinterpret_cast<uint64_t>(call.inputs.items[0]->data);
  const uint64_t end = data + 3 * 5 * sizeof(float) - reinterpret_cast<uint64_t>(memory.read_only().data());
  EXPECT_EQ(data % kBufferAlignment, 0u);
  bool found = false;
  for (uint64_t i = 0; i < block.guard_counts[0]; i++) {
    found |= guards[i].offset >= end && guards[i].offset - end < kBufferAlignment;
  }
  EXPECT_TRUE(found);
}

TEST(LentMemory, TablesDescribeTheWorkloadInOrder) {
  LentMemory memory({workload()}, kLimits);
  const ww_call call = call_in_place(memory, CallKind::kPlacement0);
  EXPECT_EQ(call.struct_size, sizeof(ww_call));
  EXPECT_EQ(call.config, 2);
  EXPECT_EQ(call.threads, 4);
  EXPECT_EQ(text_of(call.inputs), "x mask(null) empty ");
  EXPECT_EQ(text_of(call.weights), "w running ");
  EXPECT_EQ(text_of(call.outputs), "out index running ");
  EXPECT_EQ(text_of(call.init), "eps ");
  const DLTensor& x = *call.inputs.items[0];
  EXPECT_EQ(x.ndim, 2);
  EXPECT_EQ(x.shape[1], 5);
  EXPECT_EQ(x.strides[0], 5);
  EXPECT_EQ(x.strides[1], 1);
  EXPECT_EQ(x.dtype.code, kDLFloat);
  EXPECT_EQ(x.dtype.bits, 32);
  EXPECT_EQ(call.outputs.items[1]->dtype.code, kDLInt);
  double eps = 0;
  std::memcpy(&eps, call.init.items[0]->data, sizeof eps);
  EXPECT_EQ(eps, 1e-5);
  EXPECT_NE(call.inputs.items[2]->data, nullptr);
}

TEST(LentMemory, PointersMoveBetweenPlacementsAndSpansFollow) {
  LentMemory memory({workload()}, kLimits);
  const ww_call first = call_in_place(memory, CallKind::kPlacement0);
  const ww_call second = memory.call(0, CallKind::kPlacement1, 0, 1);
  LentWorkload& lent = memory.workload(0);
  ASSERT_EQ(lent.placements(), 2);
  EXPECT_NE(first.inputs.items[0]->data, second.inputs.items[0]->data);
  EXPECT_EQ(first.inputs.items[0]->data, lent.input(0, 0).data());
  EXPECT_EQ(second.inputs.items[0]->data, lent.input(0, 1).data());
  EXPECT_EQ(second.outputs.items[0]->data, lent.output(0, 1).data());
}

TEST(LentMemory, ALargeWorkloadIsHeldOnce) {
  LentMemory memory({workload()}, {.scratch_bytes = 1 << 16, .twice_bytes = 100});
  EXPECT_EQ(memory.workload(0).placements(), 1);
  const ww_call call = call_in_place(memory, CallKind::kPlacement0);
  EXPECT_EQ(call.outputs.items[0]->data, memory.workload(0).output(0, 0).data());
}

TEST(LentMemory, AMutatedBufferIsOneMemoryAmongWeightsAndOutputs) {
  LentMemory memory({workload()}, kLimits);
  const ww_call call = call_in_place(memory, CallKind::kPlacement1);
  LentWorkload& lent = memory.workload(0);
  EXPECT_TRUE(lent.is_mutated(2));
  EXPECT_FALSE(lent.is_mutated(1));
  EXPECT_EQ(call.weights.items[1]->data, call.outputs.items[2]->data);
  EXPECT_EQ(lent.weight(1).data(), lent.output(2, 0).data());
  lent.weight(1)[0] = std::byte{9};
  lent.poison(1, 5);
  EXPECT_EQ(lent.output(2, 1)[0], std::byte{9});
}

TEST(LentMemory, SizeAndPrepareCallsHideWhatDoesNotExistYet) {
  LentMemory memory({workload()}, kLimits);
  const ww_call prepare = call_in_place(memory, CallKind::kPrepare);
  EXPECT_EQ(prepare.inputs.items[0]->data, nullptr);
  EXPECT_EQ(prepare.outputs.items[0]->data, nullptr);
  EXPECT_NE(prepare.weights.items[0]->data, nullptr);
  const ww_call sizes = memory.call(0, CallKind::kSizes, 0, 1);
  EXPECT_EQ(sizes.weights.items[0]->data, nullptr);
  EXPECT_EQ(sizes.inputs.items[0]->shape[0], 3);
}

TEST(LentMemory, PoisonIsNanForFloatsAndDiffersBetweenCalls) {
  LentMemory memory({workload()}, kLimits);
  LentWorkload& lent = memory.workload(0);
  lent.poison(0, 1);
  const auto out = lent.output(0, 0);
  const std::vector<std::byte> first(out.begin(), out.end());
  for (size_t i = 0; i < 15; i++) {
    float value;
    std::memcpy(&value, out.data() + 4 * i, sizeof value);
    ASSERT_TRUE(std::isnan(value));
  }
  lent.poison(0, 2);
  EXPECT_NE(first, std::vector<std::byte>(out.begin(), out.end()));
}

TEST(LentMemory, CanariesTellWhereAWriteStrayed) {
  LentMemory memory({workload()}, kLimits);
  memory.set_scratch({.packed = 0, .workspace = 100}, 3);
  memory.paint_canaries(0, 1, 77);
  EXPECT_THAT(memory.broken_canaries(0, 1, 77), IsEmpty());
  const auto out = memory.workload(0).output(0, 1);
  std::fill(out.begin(), out.end(), std::byte{1});
  EXPECT_THAT(memory.broken_canaries(0, 1, 77), IsEmpty());
  out.data()[out.size()] ^= std::byte{1};
  out.data()[-1] ^= std::byte{1};
  EXPECT_THAT(memory.broken_canaries(0, 1, 77),
              ElementsAre("output out: 1 bytes written before its start", "output out: 1 bytes written after its end"));
}

TEST(LentMemory, ScratchHasTheAskedSizeAndNoMemoryOfTheLastOne) {
  LentMemory memory({workload()}, kLimits);
  memory.set_scratch({.packed = 5000, .workspace = 0}, 3);
  const ww_call large = call_in_place(memory, CallKind::kPrepare);
  EXPECT_EQ(reinterpret_cast<uint64_t>(large.packed) % kBufferAlignment, 0u);
  EXPECT_EQ(large.workspace, nullptr);
  std::memset(large.packed, 0x55, 5000);
  memory.set_scratch({.packed = 5000, .workspace = 64}, 4);
  const ww_call again = memory.call(0, CallKind::kPlacement0, 0, 1);
  EXPECT_EQ(again.packed, large.packed);
  EXPECT_NE(again.workspace, nullptr);
  const auto* bytes = static_cast<const unsigned char*>(again.packed);
  EXPECT_EQ(std::count(bytes, bytes + 5000, 0x55), 0);
}

TEST(InitValue, TakesNumbersAndListsAndRefusesTheRest) {
  const auto eps = init_value_from_json(Json{{"name", "n"}, {"value", {1, 2, 3}}});
  ASSERT_TRUE(eps.ok());
  EXPECT_EQ(eps->spec.dtype, DType::kInt64);
  EXPECT_EQ(eps->spec.shape, std::vector<int64_t>{3});
  EXPECT_EQ(eps->data.size(), 24u);
  EXPECT_EQ(init_value_from_json(Json{{"name", "n"}, {"value", {1, 2.5, true}}})->spec.dtype, DType::kFloat64);
  EXPECT_EQ(init_value_from_json(Json{{"name", "n"}, {"value", true}})->data.size(), 1u);
  EXPECT_TRUE(init_value_from_json(Json{{"name", "n"}, {"value", 4}})->spec.scalar);
  EXPECT_FALSE(init_value_from_json(Json{{"name", "n"}, {"value", "text"}}).ok());
  EXPECT_FALSE(init_value_from_json(Json{{"value", 1}}).ok());
}

}  // namespace
}  // namespace ww::judge
