// SPDX-License-Identifier: Apache-2.0
//
// Operators that read at positions found in other tensors.
#include "writer/lower.h"

namespace ww::writer {
namespace {

Index gathered(int64_t extent, size_t which = 0) { return Index::variable("g" + std::to_string(which), 0, extent - 1); }

/// Negative positions count from the end.
int wrap_negative(Lowering& lowering, int indices, int64_t extent) {
  const int wide = lowering.cast(indices, DType::kInt64);
  const int negative = lowering.map("lt", DType::kBool, {wide, lowering.constant(0, DType::kInt64)});
  const int moved =
      lowering.map("add", DType::kInt64, {wide, lowering.constant(static_cast<double>(extent), DType::kInt64)});
  return lowering.map("where", DType::kInt64, {negative, moved, wide});
}

void embedding(Lowering& lowering) {
  const int table = lowering.tensor(0), indices = lowering.tensor(1, "indices");
  const Shape to = lowering.result().shape;
  const int spread = lowering.broadcast(lowering.unsqueeze(indices, lowering.shape(indices).size()), to);
  const Indices map{gathered(lowering.shape(table)[0]), output_variables(to).back()};
  lowering.define(lowering.gather(table, {spread}, to, map));
}

void index_select(Lowering& lowering) {
  const int x = lowering.tensor(0), indices = lowering.tensor(2, "index");
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.shape(x).size());
  const Shape to = lowering.result().shape;
  Shape at(to.size(), 1);
  if (to.empty()) return lowering.refuse("of a scalar");
  at[dim] = to[dim];
  Indices map = output_variables(to);
  map[dim] = gathered(lowering.shape(x)[dim]);
  lowering.define(lowering.gather(x, {lowering.reshape(indices, at)}, to, map));
}

void gather(Lowering& lowering) {
  const int x = lowering.tensor(0), indices = lowering.tensor(2, "index");
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.shape(x).size());
  if (lowering.shape(x).empty()) return lowering.refuse("of a scalar");
  Indices map = output_variables(lowering.result().shape);
  map[dim] = gathered(lowering.shape(x)[dim]);
  lowering.define(lowering.gather(x, {indices}, lowering.result().shape, map));
}

// x[i, j, ..]: index tensors broadcast together and stand where the first of them stood.
void index(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const Shape from = lowering.shape(x), to = lowering.result().shape;
  const std::vector<int> given = lowering.tensors(1, "indices");
  size_t first = from.size(), last = 0, count = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] < 0) continue;
    if (lowering.node(given[i]).dtype == DType::kBool) return lowering.refuse("with a mask");
    first = std::min(first, i);
    last = i;
    ++count;
  }
  if (count == 0 || last - first + 1 != count) return lowering.refuse("with separated index tensors");
  const size_t index_rank = to.size() + count - from.size();
  const Indices variables = output_variables(to);
  Indices map;
  std::vector<int> indices;
  for (size_t i = 0; i < from.size(); ++i) {
    if (i < first || i > last) {
      map.push_back(variables[i < first ? i : i - count + index_rank]);
      continue;
    }
    map.push_back(gathered(from[i], indices.size()));
    Shape at = lowering.shape(given[i]);
    at.insert(at.end(), to.size() - first - index_rank, 1);
    indices.push_back(wrap_negative(lowering, lowering.reshape(given[i], at), from[i]));
  }
  lowering.define(lowering.gather(x, indices, to, map));
}

void embedding_bag(Lowering& lowering) {
  const std::vector<std::string> modes{"sum", "mean", "max"};
  const auto mode = static_cast<size_t>(lowering.integer(4, "mode", 0));
  const int table = lowering.tensor(0);
  if (lowering.integer(7, "include_last_offset", 0) != 0 || mode >= modes.size()) return lowering.refuse("options");
  Node node;
  node.kind = Kind::kBag;
  node.op = modes[mode];
  node.dtype = lowering.result().dtype;
  node.shape = lowering.result().shape;
  node.padding_index = lowering.has(8, "padding_idx") ? lowering.integer(8, "padding_idx", -1) : -1;
  node.operands = {table, lowering.tensor(1, "indices"), lowering.tensor(2, "offsets")};
  if (const auto weights = lowering.optional_tensor(6, "per_sample_weights")) node.operands.push_back(*weights);
  if (node.padding_index < 0 && lowering.has(8, "padding_idx")) node.padding_index += lowering.shape(table)[0];
  lowering.define(lowering.append(std::move(node)));
}

}  // namespace

void add_lookup_handlers(HandlerTable& table) {
  table.insert({{"aten.embedding", embedding},
                {"aten.index_select", index_select},
                {"aten.gather", gather},
                {"aten.index", index},
                {"aten.embedding_bag", embedding_bag},
                {"aten._embedding_bag", embedding_bag}});
}

}  // namespace ww::writer
