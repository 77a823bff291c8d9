// SPDX-License-Identifier: Apache-2.0
//
// The fusion plan: which nodes of a program are computed together and which values reach memory. It names no device and
// no language; emission (emit.h) turns it into source. Kernels run in order, each after the one before it has ended.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "writer/program.h"

namespace ww::writer {

enum class Place { kInput, kWeight, kConstant, kOutput, kWorkspace, kPacked };

/// Memory of one value, contiguous and row-major. `name` is the value's in emitted source.
struct Buffer {
  Place place = Place::kWorkspace;
  std::string name;
  std::string source;  ///< inputs, weights, outputs: name in the call's list
  DType dtype = DType::kFloat32;
  Shape shape;
  int node = -1;
  int producer = -1;    ///< kernel; -1: given
  uint64_t offset = 0;  ///< workspace, packed: bytes from its start, a multiple of 256
};

/// What a rows kernel computes: a reduction or a scan kept for its own later passes, or a value stored to a buffer.
struct Root {
  int node = -1;
  int buffer = -1;  ///< store; -1: reduction or scan
};

/// One loop nest over `shape`. Each row (one position of the dimensions that are not in `dims`) is finished before the
/// next is begun; reductions are over `dims`. No dims: elementwise.
struct RowsKernel {
  Shape shape;
  std::vector<int64_t> dims;
  std::vector<Root> roots;
};

/// A strided window on a buffer: offset + sum of index * stride, in elements.
struct Operand {
  int buffer = -1;
  int64_t offset = 0;
  Shape shape;
  std::vector<int64_t> strides;
};

/// Work done on a product's elements before they are stored, in order.
struct Epilogue {
  enum class Kind { kFunction, kLinear, kAdd, kMul };
  Kind kind = Kind::kFunction;
  std::string op;                  ///< kFunction: relu, gelu, gelu_tanh, tanh, sigmoid, silu
  double scale = 1, shift = 0;     ///< kLinear: scale * x + shift
  std::optional<Operand> operand;  ///< kAdd, kMul; broadcasts to the product
};

/// A matrix product or a convolution with what follows it. Operands as in the node; the bias is operand 2.
struct ContractionKernel {
  int node = -1;
  std::vector<Operand> operands;
  std::vector<Epilogue> epilogue;
  int output = -1;
  Shape output_shape;
};

/// Sums, means or maxima of table rows.
struct BagKernel {
  int node = -1;
  std::vector<int> operands;  ///< buffers
  int output = -1;
};

struct Kernel {
  std::variant<RowsKernel, ContractionKernel, BagKernel> work;
  std::vector<int> nodes;  ///< nodes it computes, ascending: for comments and for plans as text
  std::vector<int> reads;  ///< buffers, ascending
  bool prepared = false;   ///< depends on weights alone: run by ww_prepare
};

/// One workload.
struct WorkloadPlan {
  task::Graph graph;
  Program program;
  std::vector<Buffer> buffers;
  std::vector<int> buffer_of;  ///< by node; -1: not in memory
  std::vector<Kernel> kernels;
  uint64_t workspace_bytes = 0;
  uint64_t packed_bytes = 0;

  const Node& node(int id) const { return program.nodes[static_cast<size_t>(id)]; }
  const Buffer& buffer(int id) const { return buffers[static_cast<size_t>(id)]; }
  /// True if kernel `kernel` finds the node's value in memory.
  bool given(int node, int kernel) const;
};

struct PlanOptions {
  bool fuse = true;  ///< false: one kernel or more per graph operator
};

/// Error "unsupported operator aten.xyz".
Result<WorkloadPlan> plan_workload(const task::Graph& graph, const PlanOptions& options);

/// One line per kernel and buffer, for people and golden tests.
std::string to_text(const WorkloadPlan& plan);

/// Names of the graph operators that a kernel computes, in order: "gelu, layer_norm".
std::string operator_names(const WorkloadPlan& plan, const Kernel& kernel);

}  // namespace ww::writer
