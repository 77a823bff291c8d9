// SPDX-License-Identifier: Apache-2.0
#include "writer/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "writer/test_graphs.h"
#include "writer/writer.h"

namespace ww::writer {
namespace {

std::string planned(const GraphText& text, bool fuse = true) {
  const Result<WorkloadPlan> plan = plan_workload(text.graph(), {.fuse = fuse});
  return plan.ok() ? to_text(*plan) : plan.error().text();
}

GraphText gelu_layer_norm() {
  return GraphText()
      .input("x", "[32, 64]")
      .input("w", "[64]", "float32", "weight")
      .node("g", "gelu.default", "$x", "[32, 64]")
      .node("n", "layer_norm.default", "$g, [64], $w, null, 1e-05, false", "[32, 64]")
      .output("n", "out");
}

TEST(Plan, ElementwiseWorkJoinsTheReductionsOfItsRows) {
  EXPECT_EQ(planned(gelu_layer_norm()), "0: rows [32, 64] over 1 sum sum: gelu, layer_norm -> out float32[32, 64]\n");
}

TEST(Plan, WithoutFusionEveryOperatorReachesMemory) {
  EXPECT_EQ(planned(gelu_layer_norm(), false),
            "0: elementwise [32, 64]: gelu -> g_value float32[32, 64]\n"
            "1: rows [32, 64] over 1 sum sum: layer_norm -> out float32[32, 64]\n");
}

TEST(Plan, ReductionsOfTheSameRowsShareOneKernelAndEqualOnesAreOne) {
  const auto text = GraphText()
                        .input("x", "[8, 16]")
                        .node("a", "argmax.default", "$x, -1", "[8]", "int64")
                        .node("l", "logsumexp.default", "$x, [-1]", "[8]")
                        .output("a", "out.0")
                        .output("l", "out.1");
  EXPECT_EQ(planned(text),
            "0: rows [8, 16] over 1 max min sum: argmax, logsumexp -> out_0 int64[8], out_1 float32[8, 1]\n");
}

TEST(Plan, AReductionOverOtherDimensionsReadsTheFirstFromMemory) {
  const auto text = GraphText()
                        .input("x", "[8, 16]")
                        .node("s", "softmax.int", "$x, -1", "[8, 16]")
                        .node("c", "sum.dim_IntList", "$s, [0]", "[16]")
                        .output("c", "out");
  EXPECT_EQ(planned(text),
            "0: rows [8, 16] over 1 max sum: softmax -> s_value float32[8, 16]\n"
            "1: rows [8, 16] over 0 sum: sum -> out float32[16]\n");
}

TEST(Plan, ALossPickedByIndexIsFinishedInTheRowThatItNormalises) {
  const auto text = GraphText()
                        .input("x", "[8, 16]")
                        .input("t", "[8]", "int64")
                        .node("s", "log_softmax.int", "$x, -1", "[8, 16]")
                        .node("l", "nll_loss_nd.default", "$s, $t, null, 0", "[8]")
                        .output("l", "out");
  EXPECT_EQ(planned(text), "0: rows [8, 16] over 1 max sum: log_softmax, nll_loss_nd -> out float32[8]\n");
}

TEST(Plan, BiasActivationAndGateRideOnTheirProducts) {
  const auto text = GraphText()
                        .input("x", "[4, 8]")
                        .input("g", "[6, 8]", "float32", "weight")
                        .input("u", "[6, 8]", "float32", "weight")
                        .input("b", "[6]", "float32", "weight")
                        .node("p", "linear.default", "$x, $g, $b", "[4, 6]")
                        .node("s", "silu.default", "$p", "[4, 6]")
                        .node("q", "linear.default", "$x, $u", "[4, 6]")
                        .node("m", "mul.Tensor", "$s, $q", "[4, 6]")
                        .output("m", "out");
  EXPECT_EQ(planned(text),
            "0: product [4, 6] + bias silu: linear, silu -> s_value float32[4, 6]\n"
            "1: product [4, 6] * s_value: linear, mul -> out float32[4, 6]\n");
}

TEST(Plan, WorkOnWeightsAloneIsDoneOnceWhenTheyArrive) {
  const auto text = GraphText()
                        .input("x", "[4, 8]")
                        .input("w", "[8, 8]", "float32", "weight")
                        .node("e", "exp.default", "$w", "[8, 8]")
                        .node("m", "matmul.default", "$x, $e", "[4, 8]")
                        .output("m", "out");
  EXPECT_EQ(planned(text),
            "0 prepare: elementwise [8, 8]: exp -> e_value float32[8, 8]\n"
            "1: product [4, 8]: matmul -> out float32[4, 8]\n");
}

TEST(Plan, ViewsOfAnOperandBecomeStridesAndNoCopies) {
  const auto text = GraphText()
                        .input("a", "[2, 4, 8]")
                        .input("b", "[2, 6, 8]")
                        .node("t", "transpose.int", "$b, 1, 2", "[2, 8, 6]")
                        .node("m", "matmul.default", "$a, $t", "[2, 4, 6]")
                        .output("m", "out");
  const Result<WorkloadPlan> plan = plan_workload(text.graph(), {});
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->kernels.size(), 1u);
  const auto& product = std::get<ContractionKernel>(plan->kernels[0].work);
  EXPECT_THAT(product.operands[1].shape, testing::ElementsAre(2, 8, 6));
  EXPECT_THAT(product.operands[1].strides, testing::ElementsAre(48, 1, 8));
}

TEST(Plan, BuffersThatAreNeverAliveTogetherShareMemory) {
  GraphText text;
  text.input("x", "[64, 64]");
  std::string last = "x";
  for (const char* name : {"a", "b", "c", "d"}) {
    text.node(name, "exp.default", "$" + last, "[64, 64]");
    last = name;
  }
  text.output("d", "out");
  const Result<WorkloadPlan> plan = plan_workload(text.graph(), {.fuse = false});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->workspace_bytes, 2u * 64 * 64 * 4);
}

TEST(Plan, AnUnknownOperatorIsNamed) {
  const auto text = GraphText().input("x", "[8]").node("f", "fft_fft.default", "$x", "[8]").output("f", "out");
  EXPECT_EQ(planned(text), "f: unsupported operator aten.fft_fft");
}

TEST(Plan, AnUncoveredUseOfAKnownOperatorIsNamedToo) {
  const auto text = GraphText()
                        .input("x", "[2, 4, 5, 5]")
                        .node("d", "dropout.default", "$x, 0.5, true", "[2, 4, 5, 5]")
                        .output("d", "out");
  EXPECT_EQ(planned(text), "d: unsupported operator aten.dropout (in training mode)");
}

TEST(Writer, OffersTheUnfusedAndTheFusedSolutionWhereTheyDiffer) {
  const auto list = candidates({gelu_layer_norm().graph()}, "test");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].name, "unfused");
  EXPECT_EQ((*list)[1].name, "fused rows");
  EXPECT_FALSE((*list)[1].uses_dnnl);
  const auto one = candidates(
      {GraphText().input("x", "[4, 4]").node("e", "exp.default", "$x", "[4, 4]").output("e", "out").graph()}, "test");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->size(), 1u);
}

TEST(Writer, RefusesEqualShapesWithDifferentGraphs) {
  const auto first = GraphText().input("x", "[4]").node("e", "exp.default", "$x", "[4]").output("e", "out").graph();
  const auto second = GraphText().input("x", "[4]").node("e", "log.default", "$x", "[4]").output("e", "out").graph();
  EXPECT_FALSE(candidates({first, second}, "test").ok());
  EXPECT_TRUE(candidates({first, first}, "test").ok());
}

}  // namespace
}  // namespace ww::writer
