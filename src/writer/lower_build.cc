// SPDX-License-Identifier: Apache-2.0
//
// Lowering's node builders.
#include <algorithm>
#include <cstring>

#include "writer/lower.h"

namespace ww::writer {
namespace {

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (const Shape* part : {&a, &b}) {
    const size_t skip = shape.size() - part->size();
    for (size_t i = 0; i < part->size(); ++i) {
      if ((*part)[i] != 1) shape[skip + i] = (*part)[i];
    }
  }
  return shape;
}

/// Equal for nodes that compute the same value.
std::string description(const Node& node) {
  std::string text = std::to_string(static_cast<int>(node.kind)) + "," + std::to_string(static_cast<int>(node.dtype)) +
                     "," + node.op + "," + std::to_string(node.input) + "," + std::to_string(node.dim) + "," +
                     std::to_string(node.groups) + "," + std::to_string(node.padding_index);
  uint64_t bits = 0;
  std::memcpy(&bits, &node.number, sizeof bits);
  text += "," + std::to_string(bits);
  const auto add = [&text](const auto& values) {
    text += ";";
    for (const auto value : values) text += std::to_string(value) + ",";
  };
  add(node.operands);
  for (const auto* values : {&node.shape, &node.dims, &node.before, &node.stride, &node.padding, &node.dilation}) {
    add(*values);
  }
  for (const Index& index : node.map) text += ";" + index.text();
  return text;
}

}  // namespace

// The same operation on the same operands is one node.
int Lowering::append(Node node) {
  node.origin = origin_;
  const auto [found, fresh] = known_.emplace(description(node), static_cast<int>(program_.nodes.size()));
  if (fresh) program_.nodes.push_back(std::move(node));
  return found->second;
}

int Lowering::constant(double value, DType dtype) {
  Node node;
  node.kind = Kind::kConstant;
  node.dtype = dtype;
  node.number = value;
  return append(std::move(node));
}

int Lowering::iota(const Shape& shape, int64_t dim, DType dtype) {
  Node node;
  node.kind = Kind::kIota;
  node.dtype = dtype;
  node.shape = shape;
  node.dim = dim;
  return append(std::move(node));
}

int Lowering::map(const std::string& op, DType dtype, std::vector<int> operands) {
  Node node;
  node.op = op;
  node.dtype = dtype;
  for (const int id : operands) node.shape = broadcast_shape(node.shape, shape(id));
  for (const int id : operands) node.operands.push_back(broadcast(id, node.shape));
  return append(std::move(node));
}

int Lowering::apply(const std::string& op, std::vector<int> operands) {
  const DType type = compute_type(node(operands[0]).dtype);
  for (int& id : operands) id = cast(id, type);
  return map(op, type, std::move(operands));
}

int Lowering::cast(int id, DType dtype) {
  if (node(id).dtype == dtype) return id;
  if (node(id).kind == Kind::kConstant) return constant(node(id).number, dtype);
  return map("cast", dtype, {id});
}

int Lowering::view(int id, Shape to, Indices map) {
  Node node;
  node.kind = Kind::kView;
  node.dtype = this->node(id).dtype;
  node.shape = std::move(to);
  node.operands = {id};
  node.map = std::move(map);
  return append(std::move(node));
}

int Lowering::reshape(int id, const Shape& to) {
  if (shape(id) == to) return id;
  if (elements(to) == 0 || elements(shape(id)) != elements(to)) {
    refuse("reshape of an empty tensor");
    return id;
  }
  return view(id, to, unflatten(flatten(output_variables(to), to), shape(id)));
}

int Lowering::permute(int id, const std::vector<size_t>& order) {
  Shape to;
  for (const size_t dim : order) to.push_back(shape(id)[dim]);
  const Indices variables = output_variables(to);
  Indices map(order.size());
  for (size_t i = 0; i < order.size(); ++i) map[order[i]] = variables[i];
  return view(id, to, std::move(map));
}

int Lowering::transpose(int id, size_t a, size_t b) {
  std::vector<size_t> order(shape(id).size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (!order.empty()) std::swap(order[a], order[b]);
  return permute(id, order);
}

int Lowering::broadcast(int id, const Shape& to) {
  const Shape from = shape(id);
  if (from == to) return id;
  if (from.size() > to.size()) {
    refuse("broadcast to fewer dimensions");
    return id;
  }
  const Indices variables = output_variables(to);
  const size_t skip = to.size() - from.size();
  Indices map;
  for (size_t i = 0; i < from.size(); ++i) map.push_back(from[i] == 1 ? Index(0) : variables[skip + i]);
  return view(id, to, std::move(map));
}

int Lowering::unsqueeze(int id, size_t dim) {
  Shape to = shape(id);
  to.insert(to.begin() + static_cast<ptrdiff_t>(dim), 1);
  return reshape(id, to);
}

int Lowering::reduce(const std::string& op, int id, std::vector<size_t> dims, bool keep) {
  std::sort(dims.begin(), dims.end());
  Node node;
  node.kind = Kind::kReduce;
  node.dtype = this->node(id).dtype;
  node.op = op;
  node.operands = {id};
  Shape kept;
  for (size_t i = 0; i < shape(id).size(); ++i) {
    const bool gone = std::binary_search(dims.begin(), dims.end(), i);
    if (gone) node.dims.push_back(static_cast<int64_t>(i));
    if (!gone) node.shape.push_back(shape(id)[i]);
    kept.push_back(gone ? 1 : shape(id)[i]);
  }
  if (node.dims.empty()) return id;
  const int reduced = append(std::move(node));
  return keep ? reshape(reduced, kept) : reduced;
}

int Lowering::reduce_window(const std::string& op, int id, std::vector<size_t> dims) {
  const int reduced = reduce(op, id, std::move(dims), false);
  program_.nodes[static_cast<size_t>(reduced)].windowed = true;  // so is any equal node
  return reduced;
}

int Lowering::scan(const std::string& op, int id, size_t dim) {
  if (shape(id).empty()) return id;
  Node node;
  node.kind = Kind::kScan;
  node.dtype = this->node(id).dtype;
  node.shape = shape(id);
  node.op = op;
  node.dim = static_cast<int64_t>(dim);
  node.operands = {id};
  return append(std::move(node));
}

int Lowering::pad(int id, std::vector<int64_t> before, const Shape& to, double value) {
  if (shape(id) == to) return id;
  Node node;
  node.kind = Kind::kPad;
  node.dtype = this->node(id).dtype;
  node.shape = to;
  node.operands = {id};
  node.before = std::move(before);
  node.number = value;
  return append(std::move(node));
}

int Lowering::gather(int source, std::vector<int> indices, Shape to, Indices map) {
  Node node;
  node.kind = Kind::kGather;
  node.dtype = this->node(source).dtype;
  node.operands = {source};
  for (const int id : indices) node.operands.push_back(broadcast(cast(id, DType::kInt64), to));
  node.shape = std::move(to);
  node.map = std::move(map);
  return append(std::move(node));
}

}  // namespace ww::writer
