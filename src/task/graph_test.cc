// SPDX-License-Identifier: Apache-2.0
#include "task/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace ww::task {
namespace {

constexpr char kClamp[] = R"({"schema": "warpwright.graph/1",
 "inputs": [{"name": "x", "kind": "input", "source": "x", "dtype": "float32", "shape": [2, 3]},
            {"name": "c", "kind": "constant", "source": null, "dtype": "int64", "shape": [2], "values": [4, -5]}],
 "nodes": [{"name": "y", "op": "aten.clamp.default", "args": [{"ref": "x"}, -1, {"scalar": "inf"}], "kwargs": {},
            "outputs": [{"name": "y", "dtype": "float32", "shape": [2, 3]}]}],
 "outputs": [{"value": "y", "name": "out.0"}, {"constant": 3, "name": "out.1"}], "mutations": []})";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kClamp;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Graph, HoldsWhatTheTextSays) {
  const Result<Graph> graph = parse_graph(kClamp);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->inputs[0].source, "x");
  EXPECT_THAT(graph->inputs[1].values, testing::ElementsAre(4, -5));
  const GraphNode& node = graph->nodes[0];
  EXPECT_EQ(std::get<ValueRef>(node.args[0].value).name, "x");
  EXPECT_EQ(std::get<int64_t>(node.args[1].value), -1);
  EXPECT_TRUE(std::isinf(std::get<double>(node.args[2].value)));
  EXPECT_THAT(node.outputs[0].shape, testing::ElementsAre(2, 3));
  EXPECT_EQ(graph->outputs[0].value, "y");
  EXPECT_EQ(std::get<int64_t>(graph->outputs[1].constant->value), 3);
}

TEST(Graph, RefusesAValueUsedBeforeItIsDefinedAndNamesTheNode) {
  const Result<Graph> graph = parse_graph(with(R"({"ref": "x"})", R"({"ref": "later"})"));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().text(), "graph.nodes.y: value `later` is used before it is defined");
}

TEST(Graph, RefusesAnUnknownDtype) {
  const Result<Graph> graph = parse_graph(with("float32", "complex64"));
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().message, testing::HasSubstr("complex64"));
}

TEST(Graph, RefusesANameDefinedTwice) {
  EXPECT_FALSE(parse_graph(with(R"("outputs": [{"name": "y")", R"("outputs": [{"name": "x")")).ok());
}

TEST(Graph, RefusesAConstantWithMissingElements) { EXPECT_FALSE(parse_graph(with("[4, -5]", "[4]")).ok()); }

TEST(Graph, RefusesAnotherSchema) { EXPECT_FALSE(parse_graph(with("graph/1", "graph/9")).ok()); }

}  // namespace
}  // namespace ww::task
