// SPDX-License-Identifier: Apache-2.0
//
// Program: a captured graph lowered to few kinds of operations. Every ATen operator becomes elementwise maps, index
// maps (one kind for every view), reductions, scans, gathers and contractions. Devices share it; fusion works on it.
#pragma once

#include <string>
#include <vector>

#include "task/graph.h"
#include "writer/index.h"

namespace ww::writer {

using task::DType;
using Shape = std::vector<int64_t>;

int64_t elements(const Shape& shape);

enum class Kind {
  kInput,     ///< graph.inputs[input]
  kConstant,  ///< `number` everywhere; shape {}
  kIota,      ///< its own position along `dim`
  kMap,       ///< `op` of operands of one shape
  kView,      ///< operand at `map`
  kCat,       ///< operands one after another along `dim`
  kPad,       ///< operand shifted by `before`, `number` around it
  kGather,    ///< operand 0 at `map`, whose variables g0.. are the values of operands 1..
  kReduce,    ///< `op` over `dims` of the operand, which vanish from the shape
  kScan,      ///< running `op` along `dim`
  kMatmul,    ///< (batch.., m, k) x (batch.., k, n), optional bias (n)
  kConv,      ///< (n, c, spatial..) * (o, c / groups, spatial..), optional bias (o)
  kBag,       ///< table, indices, offsets, optional per-sample weights
};

struct Node {
  Kind kind = Kind::kMap;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<int> operands;
  int origin = -1;  ///< graph node it comes from; -1: an input
  std::string op;   ///< kMap: function; kReduce, kScan: sum prod max min any all; kBag: sum mean max
  double number = 0;
  int input = -1;
  int64_t dim = 0;
  std::vector<int64_t> dims;
  std::vector<int64_t> before;
  Indices map;                                     ///< over output variables d0, d1 ..
  bool windowed = false;                           ///< kReduce over a small window: computed inside its consumer
  std::vector<int64_t> stride, padding, dilation;  ///< kConv
  int64_t groups = 1;
  int64_t padding_index = -1;  ///< kBag: row that is skipped
};

struct ProgramOutput {
  int node = 0;
  std::string name;
};

struct Program {
  std::vector<Node> nodes;  ///< operands come first
  std::vector<ProgramOutput> outputs;
};

/// Type in which values of `dtype` are computed: float32 for the narrow floating types, else itself.
DType compute_type(DType dtype);

/// Variables d0.. of a node's output.
Indices output_variables(const Shape& shape);

/// Replaces d0.. (and g0.. by `gathered`) in `map`.
Indices apply_map(const Indices& map, const Indices& at, const Indices& gathered = {});

/// Error "unsupported operator aten.xyz", also where an operator is used in a way that is not covered.
Result<Program> lower(const task::Graph& graph);

}  // namespace ww::writer
