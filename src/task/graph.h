// SPDX-License-Identifier: Apache-2.0
//
// The captured graph (docs/formats/graph.md): one workload's forward as ATen operators with static shapes. Plain data.
// Values are named; a name is defined once, before its first use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "task/tensor.h"

namespace ww::task {

struct GraphValue {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;
};

/// A forward argument, a weight, or a small tensor that forward builds from literals. `source` is the name in the
/// solution's `inputs` or `weights` list; constants have `values` instead, row by row.
struct GraphInput {
  enum class Kind { kInput, kWeight, kConstant };
  GraphValue value;
  Kind kind = Kind::kInput;
  std::string source;
  std::vector<double> values;
};

/// The name of an earlier value.
struct ValueRef {
  std::string name;
};

/// One operator argument; monostate is None.
struct Argument {
  using List = std::vector<Argument>;
  std::variant<std::monostate, bool, int64_t, double, std::string, ValueRef, DType, List> value;

  bool none() const { return std::holds_alternative<std::monostate>(value); }
};

struct GraphNode {
  std::string name;
  std::string op;  ///< "aten.layer_norm.default"
  std::vector<Argument> args;
  std::vector<std::pair<std::string, Argument>> kwargs;
  std::vector<GraphValue> outputs;  ///< at least one
};

/// A graph output, or a buffer (by its weight name) that holds `value` after the call. An output that is a number
/// whatever the values are has `constant` (bool, int64_t or double) and no `value`.
struct GraphResult {
  std::string value;
  std::string name;
  std::optional<Argument> constant;
};

struct Graph {
  std::vector<GraphInput> inputs;
  std::vector<GraphNode> nodes;  ///< topological order
  std::vector<GraphResult> outputs;
  std::vector<GraphResult> mutations;
};

/// The error names the node or key: wrong schema, unknown dtype, a value used before it is defined or defined twice.
Result<Graph> graph_from_json(const Json& json);

/// graph_from_json over text.
Result<Graph> parse_graph(std::string_view text);

}  // namespace ww::task
