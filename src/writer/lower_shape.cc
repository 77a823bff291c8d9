// SPDX-License-Identifier: Apache-2.0
//
// ATen operators that move, cut, join or create without computing.
#include <algorithm>
#include <cmath>

#include "writer/lower.h"

namespace ww::writer {
namespace {

void reshape(Lowering& lowering) { lowering.define(lowering.reshape(lowering.tensor(0), lowering.result().shape)); }

void expand(Lowering& lowering) { lowering.define(lowering.broadcast(lowering.tensor(0), lowering.result().shape)); }

void permute(Lowering& lowering) {
  const int x = lowering.tensor(0);
  std::vector<size_t> order;
  for (const int64_t dim : lowering.integers(1, "dims")) order.push_back(Lowering::wrap(dim, lowering.shape(x).size()));
  if (order.size() != lowering.shape(x).size()) return lowering.refuse("dims");
  lowering.define(lowering.permute(x, order));
}

void transpose(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const size_t rank = lowering.shape(x).size();
  const bool matrix = lowering.current().op.rfind("aten.t.", 0) == 0;
  if (matrix && rank < 2) return lowering.define(x);
  const size_t a = Lowering::wrap(matrix ? 0 : lowering.integer(1, "dim0", 0), rank);
  const size_t b = Lowering::wrap(matrix ? 1 : lowering.integer(2, "dim1", 1), rank);
  lowering.define(lowering.transpose(x, a, b));
}

// Elements start, start + step .. of `dim`, as many as the result has.
int slice(Lowering& lowering, int x, size_t dim, int64_t start, int64_t step, int64_t count) {
  Shape to = lowering.shape(x);
  to[dim] = count;
  if (elements(to) == 0) {
    lowering.refuse("empty slice");
    return x;
  }
  Indices map = output_variables(to);
  map[dim] = map[dim] * step + start;
  return lowering.view(x, to, std::move(map));
}

void slice_handler(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.shape(x).size());
  const int64_t extent = lowering.shape(x)[dim];
  int64_t start = lowering.integer(2, "start", 0);
  if (start < 0) start = std::max<int64_t>(start + extent, 0);
  lowering.define(slice(lowering, x, dim, start, lowering.integer(4, "step", 1), lowering.result().shape[dim]));
}

void narrow(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.shape(x).size());
  const int64_t start = lowering.integer(2, "start", 0);
  lowering.define(
      slice(lowering, x, dim, start < 0 ? start + lowering.shape(x)[dim] : start, 1, lowering.result().shape[dim]));
}

void select(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.shape(x).size());
  int64_t at = lowering.integer(2, "index", 0);
  if (at < 0) at += lowering.shape(x)[dim];
  lowering.define(lowering.reshape(slice(lowering, x, dim, at, 1, 1), lowering.result().shape));
}

// chunk, split and split_with_sizes: consecutive pieces as long as the results are.
void split(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const size_t dim = Lowering::wrap(lowering.integer(2, "dim", 0), lowering.shape(x).size());
  int64_t start = 0;
  for (size_t i = 0; i < lowering.current().outputs.size(); ++i) {
    const int64_t count = lowering.result(i).shape[dim];
    lowering.define(slice(lowering, x, dim, start, 1, count), i);
    start += count;
  }
}

void unbind(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.shape(x).size());
  for (size_t i = 0; i < lowering.current().outputs.size(); ++i) {
    const int piece = slice(lowering, x, dim, static_cast<int64_t>(i), 1, 1);
    lowering.define(lowering.reshape(piece, lowering.result(i).shape), i);
  }
}

int cat(Lowering& lowering, const std::vector<int>& parts, size_t dim) {
  Node node;
  node.kind = Kind::kCat;
  node.dtype = lowering.result().dtype;
  node.dim = static_cast<int64_t>(dim);
  for (const int part : parts) {
    if (elements(lowering.shape(part)) > 0) node.operands.push_back(lowering.cast(part, node.dtype));
  }
  if (node.operands.empty()) {
    lowering.refuse("of empty tensors");
    return 0;
  }
  node.shape = lowering.shape(node.operands[0]);
  node.shape[dim] = 0;
  for (const int part : node.operands) node.shape[dim] += lowering.shape(part)[dim];
  return node.operands.size() == 1 ? node.operands[0] : lowering.append(std::move(node));
}

void cat_handler(Lowering& lowering) {
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.result().shape.size());
  const std::vector<int> parts = lowering.tensors(0, "tensors");
  if (std::count(parts.begin(), parts.end(), -1)) return lowering.refuse();
  lowering.define(cat(lowering, parts, dim));
}

void stack(Lowering& lowering) {
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.result().shape.size());
  std::vector<int> parts;
  for (const int part : lowering.tensors(0, "tensors")) {
    if (part < 0) return lowering.refuse();
    parts.push_back(lowering.unsqueeze(part, dim));
  }
  lowering.define(cat(lowering, parts, dim));
}

void flip(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const Shape shape = lowering.shape(x);
  Indices map = output_variables(shape);
  for (const int64_t dim : lowering.integers(1, "dims")) {
    const size_t at = Lowering::wrap(dim, shape.size());
    map[at] = map[at] * -1 + (shape[at] - 1);
  }
  lowering.define(lowering.view(x, shape, std::move(map)));
}

// repeat and tile: the index wraps around.
void repeat(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const Shape from = lowering.shape(x);
  const Shape to = lowering.result().shape;
  if (elements(to) == 0) return lowering.refuse("empty result");
  const Indices variables = output_variables(to);
  Indices map;
  for (size_t i = 0; i < from.size(); ++i) {
    map.push_back(remainder(variables[to.size() - from.size() + i], from[i]));
  }
  lowering.define(lowering.view(x, to, std::move(map)));
}

void repeat_interleave(Lowering& lowering) {
  const int x = lowering.tensor(0);
  if (lowering.overload() != "self_int" || !lowering.has(2, "dim")) return lowering.refuse("with a tensor of repeats");
  const size_t dim = Lowering::wrap(lowering.integer(2, "dim", 0), lowering.shape(x).size());
  Indices map = output_variables(lowering.result().shape);
  map[dim] = quotient(map[dim], lowering.integer(1, "repeats", 1));
  lowering.define(lowering.view(x, lowering.result().shape, std::move(map)));
}

void constant_pad(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const std::vector<int64_t> pads = lowering.integers(1, "pad");
  if (lowering.text(2, "mode", "constant") != "constant") return lowering.refuse("mode");
  const size_t value_position = lowering.current().op.rfind("aten.pad.", 0) == 0 ? 3 : 2;
  const double value = lowering.number(value_position, "value", 0);
  Shape shape = lowering.shape(x);
  std::vector<int64_t> before(shape.size(), 0);
  int cut = x;
  for (size_t i = 0; 2 * i + 1 < pads.size(); ++i) {
    const size_t dim = shape.size() - 1 - i;
    const int64_t low = pads[2 * i], high = pads[2 * i + 1];
    const int64_t kept = shape[dim] + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0);
    if (kept != shape[dim]) cut = slice(lowering, cut, dim, std::max<int64_t>(-low, 0), 1, kept);
    before[dim] = std::max<int64_t>(low, 0);
    shape[dim] = kept + before[dim] + std::max<int64_t>(high, 0);
  }
  lowering.define(lowering.pad(cut, before, shape, value));
}

void fill(Lowering& lowering) {
  const std::string& op = lowering.current().op;
  double value = 0;
  if (op.rfind("aten.ones", 0) == 0 || op.rfind("aten.new_ones", 0) == 0) value = 1;
  if (op.rfind("aten.full", 0) == 0) value = lowering.number(1, "fill_value", 0);
  if (op.rfind("aten.new_full", 0) == 0) value = lowering.number(2, "fill_value", 0);
  if (op.rfind("aten.scalar_tensor", 0) == 0) value = lowering.number(0, "s", 0);
  lowering.define(lowering.broadcast(lowering.constant(value, lowering.result().dtype), lowering.result().shape));
}

// Elements that leave at one end of a dimension come back at the other.
void roll(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const Shape shape = lowering.shape(x);
  const std::vector<int64_t> shifts = lowering.integers(1, "shifts"), dims = lowering.integers(2, "dims");
  if (dims.size() != shifts.size()) return lowering.refuse("of the flattened tensor");
  int result = x;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t dim = Lowering::wrap(dims[i], shape.size());
    const int64_t back = ((shifts[i] % shape[dim]) + shape[dim]) % shape[dim];
    if (back == 0) continue;
    const int tail = slice(lowering, result, dim, shape[dim] - back, 1, back);
    result = cat(lowering, {tail, slice(lowering, result, dim, 0, 1, shape[dim] - back)}, dim);
  }
  lowering.define(result);
}

void broadcast_tensors(Lowering& lowering) {
  const std::vector<int> given = lowering.tensors(0, "tensors");
  for (size_t i = 0; i < given.size() && i < lowering.current().outputs.size(); ++i) {
    lowering.define(lowering.broadcast(given[i], lowering.result(i).shape), i);
  }
}

// (.., c * r * r, h, w) to (.., c, h * r, w * r), and back.
void pixel_shuffle(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const bool back = lowering.current().op.rfind("aten.pixel_unshuffle", 0) == 0;
  const int64_t r = lowering.integer(1, back ? "downscale_factor" : "upscale_factor", 1);
  const Shape from = lowering.shape(x), to = lowering.result().shape;
  const size_t rank = from.size();
  Indices map = output_variables(to);
  const Index c = map[rank - 3], h = map[rank - 2], w = map[rank - 1];
  if (back) {
    map[rank - 3] = quotient(c, r * r);
    map[rank - 2] = h * r + remainder(quotient(c, r), r);
    map[rank - 1] = w * r + remainder(c, r);
  } else {
    map[rank - 3] = c * (r * r) + remainder(h, r) * r + remainder(w, r);
    map[rank - 2] = quotient(h, r);
    map[rank - 1] = quotient(w, r);
  }
  lowering.define(lowering.view(x, to, std::move(map)));
}

void arange(Lowering& lowering) {
  const bool from_start = lowering.overload() != "default";
  const double start = from_start ? lowering.number(0, "start", 0) : 0;
  const double step = lowering.overload() == "start_step" ? lowering.number(2, "step", 1) : 1;
  const DType type = compute_type(lowering.result().dtype);
  int x = lowering.iota(lowering.result().shape, 0, type);
  if (step != 1) x = lowering.map("mul", type, {x, lowering.constant(step, type)});
  if (start != 0) x = lowering.map("add", type, {x, lowering.constant(start, type)});
  lowering.define(x);
}

// Keeps what lies on, below (tril) or above (triu) a diagonal.
void triangle(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const Shape shape = lowering.shape(x);
  const auto rank = static_cast<int64_t>(shape.size());
  const int row = lowering.iota(shape, rank - 2, DType::kInt64);
  const int shifted =
      lowering.map("add", DType::kInt64, {row, lowering.constant(lowering.number(1, "diagonal", 0), DType::kInt64)});
  const bool lower_part = lowering.current().op.rfind("aten.tril", 0) == 0;
  const int keep =
      lowering.map(lower_part ? "le" : "ge", DType::kBool, {lowering.iota(shape, rank - 1, DType::kInt64), shifted});
  const DType type = compute_type(lowering.node(x).dtype);
  lowering.define(lowering.map("where", type, {keep, lowering.cast(x, type), lowering.constant(0, type)}));
}

}  // namespace

void add_shape_handlers(HandlerTable& table) {
  table.insert({{"aten.view", reshape},
                {"aten.reshape", reshape},
                {"aten._unsafe_view", reshape},
                {"aten.flatten", reshape},
                {"aten.unflatten", reshape},
                {"aten.squeeze", reshape},
                {"aten.unsqueeze", reshape},
                {"aten.expand", expand},
                {"aten.expand_as", expand},
                {"aten.broadcast_to", expand},
                {"aten.permute", permute},
                {"aten.transpose", transpose},
                {"aten.t", transpose},
                {"aten.swapaxes", transpose},
                {"aten.slice", slice_handler},
                {"aten.narrow", narrow},
                {"aten.select", select},
                {"aten.chunk", split},
                {"aten.split", split},
                {"aten.split_with_sizes", split},
                {"aten.unbind", unbind},
                {"aten.cat", cat_handler},
                {"aten.stack", stack},
                {"aten.flip", flip},
                {"aten.roll", roll},
                {"aten.broadcast_tensors", broadcast_tensors},
                {"aten.pixel_shuffle", pixel_shuffle},
                {"aten.pixel_unshuffle", pixel_shuffle},
                {"aten.repeat", repeat},
                {"aten.tile", repeat},
                {"aten.repeat_interleave", repeat_interleave},
                {"aten.pad", constant_pad},
                {"aten.constant_pad_nd", constant_pad}});
  table.insert({{"aten.zeros", fill},
                {"aten.zeros_like", fill},
                {"aten.new_zeros", fill},
                {"aten.ones", fill},
                {"aten.ones_like", fill},
                {"aten.new_ones", fill},
                {"aten.full", fill},
                {"aten.full_like", fill},
                {"aten.new_full", fill},
                {"aten.scalar_tensor", fill},
                {"aten.arange", arange},
                {"aten.tril", triangle},
                {"aten.triu", triangle}});
}

}  // namespace ww::writer
