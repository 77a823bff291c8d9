// SPDX-License-Identifier: Apache-2.0
//
// Captured graphs put together in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "task/graph.h"

namespace ww::writer {

/// Writes the JSON of docs/formats/graph.md piece by piece.
class GraphText {
 public:
  GraphText& input(const std::string& name, const std::string& shape, const std::string& dtype = "float32",
                   const std::string& kind = "input") {
    inputs_ += separator(inputs_) + R"({"name": ")" + name + R"(", "kind": ")" + kind + R"(", "source": ")" + name +
               R"(", "dtype": ")" + dtype + R"(", "shape": )" + shape + "}";
    return *this;
  }
  /// `args` is the inside of the list; "$x" stands for {"ref": "x"}.
  GraphText& node(const std::string& name, const std::string& op, std::string args, const std::string& shape,
                  const std::string& dtype = "float32", const std::string& kwargs = "") {
    for (size_t at; (at = args.find('$')) != std::string::npos;) {
      const size_t end = std::min(args.find_first_of(",]", at), args.size());
      args.replace(at, end - at, R"({"ref": ")" + args.substr(at + 1, end - at - 1) + "\"}");
    }
    nodes_ += separator(nodes_) + R"({"name": ")" + name + R"(", "op": "aten.)" + op + R"(", "args": [)" + args +
              R"(], "kwargs": {)" + kwargs + R"(}, "outputs": [{"name": ")" + name + R"(", "dtype": ")" + dtype +
              R"(", "shape": )" + shape + "}]}";
    return *this;
  }
  GraphText& output(const std::string& value, const std::string& name) {
    outputs_ += separator(outputs_) + R"({"value": ")" + value + R"(", "name": ")" + name + "\"}";
    return *this;
  }
  task::Graph graph() const {
    const Result<task::Graph> graph =
        task::parse_graph(R"({"schema": "warpwright.graph/1", "inputs": [)" + inputs_ + R"(], "nodes": [)" + nodes_ +
                          R"(], "outputs": [)" + outputs_ + R"(], "mutations": []})");
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
    return *graph;
  }

 private:
  static std::string separator(const std::string& before) { return before.empty() ? "" : ", "; }
  std::string inputs_, nodes_, outputs_;
};

}  // namespace ww::writer
