// SPDX-License-Identifier: Apache-2.0
//
// Lowering: what operator handlers use to read arguments and to append nodes. Private to the lower*.cc files.
// The first refusal is kept; nodes appended after it are never used.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "writer/program.h"

namespace ww::writer {

class Lowering;
using Handler = void (*)(Lowering&);
using HandlerTable = std::unordered_map<std::string_view, Handler>;  ///< by operator without overload

void add_pointwise_handlers(HandlerTable& table);
void add_shape_handlers(HandlerTable& table);
void add_reduction_handlers(HandlerTable& table);
void add_norm_handlers(HandlerTable& table);
void add_contraction_handlers(HandlerTable& table);
void add_lookup_handlers(HandlerTable& table);

class Lowering {
 public:
  explicit Lowering(const task::Graph& graph) : graph_(graph) {}
  Result<Program> run();

  // The operator being lowered.
  const task::GraphNode& current() const { return *current_; }
  const task::GraphValue& result(size_t i = 0) const { return current_->outputs[i]; }
  std::string overload() const;
  void refuse(const std::string& detail = {});
  void define(int node, size_t output = 0);

  // Its arguments, by position or keyword.
  const task::Argument* argument(size_t position, std::string_view keyword) const;
  bool has(size_t position, std::string_view keyword) const;
  int tensor(size_t position, std::string_view keyword = {});
  std::optional<int> optional_tensor(size_t position, std::string_view keyword = {});
  std::vector<int> tensors(size_t position, std::string_view keyword = {});
  int64_t integer(size_t position, std::string_view keyword, int64_t otherwise);
  double number(size_t position, std::string_view keyword, double otherwise);
  std::vector<int64_t> integers(size_t position, std::string_view keyword, std::vector<int64_t> otherwise = {});
  std::string text(size_t position, std::string_view keyword, const std::string& otherwise);
  DType dtype(size_t position, std::string_view keyword, DType otherwise);
  /// A tensor argument, or a number as a constant of `dtype`.
  int operand(size_t position, std::string_view keyword, DType dtype);
  /// -1 based dimension to a position. `rank` 0 counts as 1.
  static size_t wrap(int64_t dim, size_t rank);

  // Appending nodes.
  const Node& node(int id) const { return program_.nodes[static_cast<size_t>(id)]; }
  const Shape& shape(int id) const { return node(id).shape; }
  int append(Node node);
  int constant(double value, DType dtype);
  int iota(const Shape& shape, int64_t dim, DType dtype);
  /// Broadcasts; operands are already of the type that `op` computes in.
  int map(const std::string& op, DType dtype, std::vector<int> operands);
  /// map() in the float type of operand 0.
  int apply(const std::string& op, std::vector<int> operands);
  int apply(const std::string& op, int a, double b) { return apply(op, {a, constant(b, node(a).dtype)}); }
  /// Value-preserving change of type; between floating types without rounding.
  int cast(int id, DType dtype);
  /// cast() to the type it is computed in.
  int widen(int id) { return cast(id, compute_type(node(id).dtype)); }
  int view(int id, Shape shape, Indices map);
  int reshape(int id, const Shape& shape);
  int permute(int id, const std::vector<size_t>& order);
  int transpose(int id, size_t a, size_t b);
  int broadcast(int id, const Shape& shape);
  int unsqueeze(int id, size_t dim);
  int reduce(const std::string& op, int id, std::vector<size_t> dims, bool keep);
  /// reduce() that is computed inside its consumer, element by element.
  int reduce_window(const std::string& op, int id, std::vector<size_t> dims);
  int scan(const std::string& op, int id, size_t dim);
  int pad(int id, std::vector<int64_t> before, const Shape& shape, double value);
  int gather(int source, std::vector<int> indices, Shape shape, Indices map);

 private:
  int constant_output(const task::Argument& value);
  int lookup(const std::string& name);

  const task::Graph& graph_;
  const task::GraphNode* current_ = nullptr;
  int origin_ = -1;
  Program program_;
  std::map<std::string, int> values_;  ///< by graph name
  std::map<std::string, int> known_;   ///< by description
  std::optional<Error> error_;
};

/// Dimensions of a reduction argument: all of them where it is None or empty.
std::vector<size_t> reduced_dims(Lowering& lowering, int id, size_t position, std::string_view keyword = "dim");
int mean(Lowering& lowering, int id, const std::vector<size_t>& dims, bool keep);
/// Natural softmax or its logarithm over `dim`, in the computing type.
int softmax(Lowering& lowering, int id, size_t dim, bool logarithm);
int matmul(Lowering& lowering, int a, int b, DType dtype);

}  // namespace ww::writer
