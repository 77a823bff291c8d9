// SPDX-License-Identifier: Apache-2.0
//
// Matrix products, convolutions, attention and pooling windows.
#include <cmath>
#include <limits>

#include "writer/lower.h"

namespace ww::writer {
namespace {

/// The library multiplies float32 and bfloat16; other floating types go through float32.
DType product_type(DType dtype) {
  return dtype == DType::kBfloat16 || dtype == DType::kFloat32 ? dtype : DType::kFloat32;
}

int append_matmul(Lowering& lowering, int a, int b, std::optional<int> bias, DType dtype) {
  if (!task::is_floating(dtype) || dtype == DType::kFloat64) lowering.refuse("of " + std::string(task::name(dtype)));
  Node node;
  node.kind = Kind::kMatmul;
  node.dtype = product_type(dtype);
  const Shape left = lowering.shape(a);
  node.shape = left;
  node.shape.back() = lowering.shape(b).back();
  node.operands = {lowering.cast(a, node.dtype), lowering.cast(b, node.dtype)};
  if (bias) node.operands.push_back(lowering.cast(*bias, node.dtype));
  if (elements(node.shape) == 0 || left.back() == 0) lowering.refuse("of empty tensors");
  return lowering.append(std::move(node));
}

int flatten_rows(Lowering& lowering, int x) {
  const int64_t columns = lowering.shape(x).back();
  return lowering.reshape(x, {elements(lowering.shape(x)) / std::max<int64_t>(columns, 1), columns});
}

void linear(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const int weight = lowering.tensor(1);
  if (lowering.shape(weight).size() != 2 || lowering.shape(x).empty()) return lowering.refuse("weight rank");
  const int product = append_matmul(lowering, flatten_rows(lowering, x), lowering.transpose(weight, 0, 1),
                                    lowering.optional_tensor(2, "bias"), lowering.result().dtype);
  lowering.define(lowering.reshape(product, lowering.result().shape));
}

void matmul_handler(Lowering& lowering) {
  const int product = matmul(lowering, lowering.tensor(0), lowering.tensor(1), lowering.result().dtype);
  lowering.define(lowering.reshape(product, lowering.result().shape));
}

// beta * self + alpha * (a @ b)
void addmm(Lowering& lowering) {
  const DType type = product_type(lowering.result().dtype);
  const int self = lowering.cast(lowering.tensor(0), type);
  const int a = lowering.tensor(1), b = lowering.tensor(2);
  const double beta = lowering.number(3, "beta", 1), alpha = lowering.number(4, "alpha", 1);
  if (alpha == 1 && beta == 1 && lowering.shape(self).size() == 1 && lowering.shape(a).size() == 2) {
    return lowering.define(append_matmul(lowering, a, b, self, lowering.result().dtype));
  }
  const int product = lowering.apply("mul", matmul(lowering, a, b, lowering.result().dtype), alpha);
  lowering.define(lowering.apply("add", {product, lowering.apply("mul", self, beta)}));
}

std::vector<int64_t> spread(std::vector<int64_t> values, size_t rank) {
  if (values.size() == 1) values.resize(rank, values[0]);
  return values;
}

void convolution(Lowering& lowering) {
  const bool generic = lowering.current().op.rfind("aten.convolution", 0) == 0;
  if (generic && lowering.integer(6, "transposed", 0) != 0) return lowering.refuse("transposed");
  if (lowering.overload() == "padding") return lowering.refuse("padding given as text");
  int x = lowering.tensor(0);
  const int weight = lowering.tensor(1, "weight");
  const size_t rank = lowering.shape(weight).size() - 2;
  const Shape result = lowering.result().shape;
  const bool batched = lowering.shape(x).size() == rank + 2;
  if (!batched) x = lowering.unsqueeze(x, 0);
  Node node;
  node.kind = Kind::kConv;
  node.dtype = product_type(lowering.result().dtype);
  node.shape = result;
  if (!batched) node.shape.insert(node.shape.begin(), 1);
  node.operands = {lowering.cast(x, node.dtype), lowering.cast(weight, node.dtype)};
  if (const auto bias = lowering.optional_tensor(2, "bias")) node.operands.push_back(lowering.cast(*bias, node.dtype));
  node.stride = spread(lowering.integers(3, "stride", {1}), rank);
  node.padding = spread(lowering.integers(4, "padding", {0}), rank);
  node.dilation = spread(lowering.integers(5, "dilation", {1}), rank);
  node.groups = lowering.integer(generic ? 8 : 6, "groups", 1);
  if (rank < 1 || rank > 3 || lowering.result().dtype == DType::kFloat64) return lowering.refuse("rank or type");
  lowering.define(lowering.reshape(lowering.append(std::move(node)), result));
}

// Key and value heads are repeated for groups of query heads where `enable_gqa` asks for it.
int repeat_heads(Lowering& lowering, int x, int64_t heads) {
  const size_t dim = lowering.shape(x).size() - 3;
  Shape to = lowering.shape(x);
  if (to[dim] == heads) return x;
  const int64_t times = heads / to[dim];
  to[dim] = heads;
  Indices map = output_variables(to);
  map[dim] = quotient(map[dim], times);
  return lowering.view(x, to, std::move(map));
}

int attention_mask(Lowering& lowering, int scores, size_t position) {
  const DType type = lowering.node(scores).dtype;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (const auto mask = lowering.optional_tensor(position, "attn_mask")) {
    if (lowering.node(*mask).dtype != DType::kBool) return lowering.apply("add", {scores, lowering.cast(*mask, type)});
    return lowering.map("where", type, {*mask, scores, lowering.constant(-kInfinity, type)});
  }
  if (lowering.integer(position + 2, "is_causal", 0) == 0) return scores;
  const Shape shape = lowering.shape(scores);
  const auto rank = static_cast<int64_t>(shape.size());
  const int row = lowering.iota(shape, rank - 2, DType::kInt64);
  const int visible = lowering.map("le", DType::kBool, {lowering.iota(shape, rank - 1, DType::kInt64), row});
  return lowering.map("where", type, {visible, scores, lowering.constant(-kInfinity, type)});
}

void attention(Lowering& lowering) {
  const int query = lowering.tensor(0);
  int key = lowering.tensor(1), value = lowering.tensor(2);
  if (lowering.number(4, "dropout_p", 0) != 0) return lowering.refuse("dropout");
  const size_t rank = lowering.shape(query).size();
  if (lowering.integer(7, "enable_gqa", 0) != 0 && rank >= 3) {
    key = repeat_heads(lowering, key, lowering.shape(query)[rank - 3]);
    value = repeat_heads(lowering, value, lowering.shape(query)[rank - 3]);
  }
  const DType type = lowering.node(query).dtype;
  const double scale = lowering.number(6, "scale", 1.0 / std::sqrt(static_cast<double>(lowering.shape(query).back())));
  const int product = matmul(lowering, query, lowering.transpose(key, rank - 2, rank - 1), type);
  const int scores = attention_mask(lowering, lowering.apply("mul", lowering.widen(product), scale), 3);
  const int weights = lowering.cast(softmax(lowering, scores, rank - 1, false), type);
  lowering.define(matmul(lowering, weights, value, type));
}

struct Window {
  std::vector<int64_t> size, stride, padding, dilation;
};

// A view (outer.., out.., window..) of the padded input; all that windows reach lies inside.
int windows(Lowering& lowering, int x, const Window& window, const Shape& out, double fill) {
  const Shape from = lowering.shape(x);
  const size_t rank = window.size.size(), outer = from.size() - rank;
  Shape padded = from, to(from.begin(), from.begin() + static_cast<ptrdiff_t>(outer));
  std::vector<int64_t> before(from.size(), 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t reach = (out[outer + i] - 1) * window.stride[i] + (window.size[i] - 1) * window.dilation[i] + 1;
    before[outer + i] = window.padding[i];
    padded[outer + i] = std::max(reach, from[outer + i] + window.padding[i]);
    to.push_back(out[outer + i]);
  }
  to.insert(to.end(), window.size.begin(), window.size.end());
  const Indices variables = output_variables(to);
  Indices map(variables.begin(), variables.begin() + static_cast<ptrdiff_t>(outer));
  for (size_t i = 0; i < rank; ++i) {
    map.push_back(variables[outer + i] * window.stride[i] + variables[outer + rank + i] * window.dilation[i]);
  }
  return lowering.view(lowering.pad(x, before, padded, fill), to, std::move(map));
}

constexpr int64_t kLargestInlinedWindow = 64;

int reduce_windows(Lowering& lowering, const char* op, int x, size_t rank) {
  std::vector<size_t> dims;
  int64_t size = 1;
  for (size_t i = lowering.shape(x).size() - rank; i < lowering.shape(x).size(); ++i) {
    dims.push_back(i);
    size *= lowering.shape(x)[i];
  }
  return size <= kLargestInlinedWindow ? lowering.reduce_window(op, x, dims) : lowering.reduce(op, x, dims, false);
}

Window read_window(Lowering& lowering, bool max) {
  const std::string& op = lowering.current().op;
  const size_t rank = op.find("pool1d") != std::string::npos ? 1 : op.find("pool2d") != std::string::npos ? 2 : 3;
  Window window;
  window.size = spread(lowering.integers(1, "kernel_size"), rank);
  window.stride = spread(lowering.integers(2, "stride"), rank);
  if (window.stride.empty()) window.stride = window.size;
  window.padding = spread(lowering.integers(3, "padding", {0}), rank);
  window.dilation.assign(rank, 1);
  if (max) window.dilation = spread(lowering.integers(4, "dilation", {1}), rank);
  return window;
}

void max_pool(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const Window window = read_window(lowering, true);
  const int view = windows(lowering, x, window, lowering.result().shape, -std::numeric_limits<double>::infinity());
  lowering.define(reduce_windows(lowering, "max", view, window.size.size()));
}

void average_pool(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const Window window = read_window(lowering, false);
  const size_t rank = window.size.size();
  const bool ceil = lowering.integer(4, "ceil_mode", 0) != 0;
  bool padded = false;
  double count = 1;
  for (size_t i = 0; i < rank; ++i) {
    padded = padded || window.padding[i] > 0;
    count *= static_cast<double>(window.size[i]);
  }
  if (ceil || (padded && lowering.integer(5, "count_include_pad", 1) == 0)) return lowering.refuse("uneven windows");
  count = lowering.number(6, "divisor_override", count);
  const int sum = reduce_windows(lowering, "sum", windows(lowering, x, window, lowering.result().shape, 0), rank);
  lowering.define(lowering.apply("mul", sum, 1.0 / count));
}

// Only where every window has the same size.
void adaptive_average_pool(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const Shape from = lowering.shape(x), out = lowering.result().shape;
  const size_t rank = lowering.integers(1, "output_size").size(), outer = from.size() - rank;
  std::vector<size_t> dims;
  Shape split(from.begin(), from.begin() + static_cast<ptrdiff_t>(outer));
  for (size_t i = outer; i < from.size(); ++i) {
    if (out[i] == 0 || from[i] % out[i] != 0) return lowering.refuse("uneven windows");
    split.push_back(out[i]);
    split.push_back(from[i] / out[i]);
    dims.push_back(split.size() - 1);
  }
  lowering.define(mean(lowering, lowering.reshape(x, split), dims, false));
}

}  // namespace

int matmul(Lowering& lowering, int a, int b, DType dtype) {
  const bool row = lowering.shape(a).size() == 1, column = lowering.shape(b).size() == 1;
  if (row) a = lowering.unsqueeze(a, 0);
  if (column) b = lowering.unsqueeze(b, 1);
  const Shape left = lowering.shape(a), right = lowering.shape(b);
  if (left.size() < 2 || right.size() < 2) {
    lowering.refuse("of scalars");
    return a;
  }
  if (right.size() == 2) {
    const int product = append_matmul(lowering, flatten_rows(lowering, a), b, std::nullopt, dtype);
    Shape to = left;
    to.back() = right.back();
    return lowering.reshape(product, to);
  }
  Shape batch(std::max(left.size(), right.size()) - 2, 1);
  for (const Shape* shape : {&left, &right}) {
    const size_t skip = batch.size() + 2 - shape->size();
    for (size_t i = 0; i + 2 < shape->size(); ++i) {
      if ((*shape)[i] != 1) batch[skip + i] = (*shape)[i];
    }
  }
  Shape to_left = batch, to_right = batch;
  to_left.insert(to_left.end(), left.end() - 2, left.end());
  to_right.insert(to_right.end(), right.end() - 2, right.end());
  return append_matmul(lowering, lowering.broadcast(a, to_left), lowering.broadcast(b, to_right), std::nullopt, dtype);
}

void add_contraction_handlers(HandlerTable& table) {
  table.insert({{"aten.linear", linear},
                {"aten.matmul", matmul_handler},
                {"aten.mm", matmul_handler},
                {"aten.bmm", matmul_handler},
                {"aten.mv", matmul_handler},
                {"aten.dot", matmul_handler},
                {"aten.addmm", addmm},
                {"aten.baddbmm", addmm},
                {"aten.conv1d", convolution},
                {"aten.conv2d", convolution},
                {"aten.conv3d", convolution},
                {"aten.convolution", convolution},
                {"aten.scaled_dot_product_attention", attention},
                {"aten.max_pool1d", max_pool},
                {"aten.max_pool2d", max_pool},
                {"aten.max_pool3d", max_pool},
                {"aten.max_pool2d_with_indices", max_pool},
                {"aten.avg_pool1d", average_pool},
                {"aten.avg_pool2d", average_pool},
                {"aten.avg_pool3d", average_pool},
                {"aten.adaptive_avg_pool1d", adaptive_average_pool},
                {"aten.adaptive_avg_pool2d", adaptive_average_pool}});
}

}  // namespace ww::writer
