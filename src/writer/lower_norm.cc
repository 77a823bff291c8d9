// SPDX-License-Identifier: Apache-2.0
//
// Normalisation layers, written as reductions and elementwise work.
#include "writer/lower.h"

namespace ww::writer {
namespace {

/// (x - mean) / sqrt(variance + eps) over `dims`, whose reduced statistics stay broadcastable.
int standardize(Lowering& lowering, int x, const std::vector<size_t>& dims, double eps) {
  const int center = lowering.apply("sub", {x, mean(lowering, x, dims, true)});
  const int variance = mean(lowering, lowering.apply("mul", {center, center}), dims, true);
  return lowering.apply("mul", {center, lowering.apply("rsqrt", {lowering.apply("add", variance, eps)})});
}

/// Times `scale`, plus `shift`, each optional and given the shape `at`, which broadcasts to x.
int affine(Lowering& lowering, int x, std::optional<int> scale, std::optional<int> shift, const Shape& at) {
  if (scale) x = lowering.apply("mul", {x, lowering.reshape(*scale, at)});
  if (shift) x = lowering.apply("add", {x, lowering.reshape(*shift, at)});
  return x;
}

std::vector<size_t> last_dims(const Shape& shape, size_t count) {
  std::vector<size_t> dims;
  for (size_t i = shape.size() - std::min(count, shape.size()); i < shape.size(); ++i) dims.push_back(i);
  return dims;
}

void layer_norm(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const Shape normalized = lowering.integers(1, "normalized_shape");
  const auto dims = last_dims(lowering.shape(x), normalized.size());
  const int y = standardize(lowering, x, dims, lowering.number(4, "eps", 1e-5));
  const auto scale = lowering.optional_tensor(2, "weight");
  lowering.define(affine(lowering, y, scale, lowering.optional_tensor(3, "bias"), normalized));
}

void rms_norm(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const Shape normalized = lowering.integers(1, "normalized_shape");
  const auto dims = last_dims(lowering.shape(x), normalized.size());
  const double epsilon = lowering.result().dtype == DType::kFloat64 ? 2.220446049250313e-16 : 1.1920929e-7;
  const int square = mean(lowering, lowering.apply("mul", {x, x}), dims, true);
  const int scale = lowering.apply("rsqrt", {lowering.apply("add", square, lowering.number(3, "eps", epsilon))});
  const int y = lowering.apply("mul", {x, scale});
  lowering.define(affine(lowering, y, lowering.optional_tensor(2, "weight"), std::nullopt, normalized));
}

// Groups become a dimension of their own: (n, groups, channels of a group, rest..).
void group_norm(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const Shape shape = lowering.shape(x);
  const int64_t groups = lowering.integer(1, "num_groups", 1);
  Shape grouped{shape[0], groups, shape[1] / groups};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  const Shape channel_shape = [&] {
    Shape at(grouped.size() - 1, 1);
    at[0] = groups;
    at[1] = grouped[2];
    return at;
  }();
  const int y = standardize(lowering, lowering.reshape(x, grouped), last_dims(grouped, grouped.size() - 2),
                            lowering.number(4, "eps", 1e-5));
  const auto scale = lowering.optional_tensor(2, "weight");
  const int z = affine(lowering, y, scale, lowering.optional_tensor(3, "bias"), channel_shape);
  lowering.define(lowering.reshape(z, shape));
}

Shape per_channel(const Shape& shape) {
  Shape at(shape.size() - 1, 1);
  at[0] = shape[1];
  return at;
}

void instance_norm(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const Shape shape = lowering.shape(x);
  if (lowering.integer(5, "use_input_stats", 1) == 0) return lowering.refuse("with running statistics");
  const int y = standardize(lowering, x, last_dims(shape, shape.size() - 2), lowering.number(7, "eps", 1e-5));
  const auto scale = lowering.optional_tensor(1, "weight");
  lowering.define(affine(lowering, y, scale, lowering.optional_tensor(2, "bias"), per_channel(shape)));
}

void batch_norm(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const Shape shape = lowering.shape(x);
  const bool functional = lowering.current().op.find("no_training") != std::string::npos;
  if (!functional && lowering.integer(5, "training", 0) != 0) return lowering.refuse("in training mode");
  const Shape at = per_channel(shape);
  const size_t eps_position = functional ? 6 : 7;
  const int variance = lowering.reshape(lowering.widen(lowering.tensor(4, "running_var")), at);
  const int center =
      lowering.apply("sub", {x, lowering.reshape(lowering.widen(lowering.tensor(3, "running_mean")), at)});
  const int spread = lowering.apply("add", variance, lowering.number(eps_position, "eps", 1e-5));
  const int y = lowering.apply("mul", {center, lowering.apply("rsqrt", {spread})});
  const auto scale = lowering.optional_tensor(1, "weight");
  lowering.define(affine(lowering, y, scale, lowering.optional_tensor(2, "bias"), at));
}

// a . b / (max(|a|, eps) * max(|b|, eps))
void cosine_similarity(Lowering& lowering) {
  const DType type = compute_type(lowering.result().dtype);
  const int a = lowering.operand(0, "x1", type), b = lowering.operand(1, "x2", type);
  const int product = lowering.apply("mul", {a, b});
  const size_t dim = Lowering::wrap(lowering.integer(2, "dim", 1), lowering.shape(product).size());
  const double eps = lowering.number(3, "eps", 1e-8);
  const Shape shape = lowering.shape(product);
  const auto length = [&](int x) {
    const int whole = lowering.broadcast(x, shape);
    const int squares = lowering.reduce("sum", lowering.apply("mul", {whole, whole}), {dim}, false);
    return lowering.apply("max", lowering.apply("sqrt", {squares}), eps);
  };
  const int sizes = lowering.apply("mul", {length(a), length(b)});
  lowering.define(lowering.apply("div", {lowering.reduce("sum", product, {dim}, false), sizes}));
}

}  // namespace

void add_norm_handlers(HandlerTable& table) {
  table.insert({{"aten.layer_norm", layer_norm},
                {"aten.native_layer_norm", layer_norm},
                {"aten.rms_norm", rms_norm},
                {"aten.cosine_similarity", cosine_similarity},
                {"aten.group_norm", group_norm},
                {"aten.instance_norm", instance_norm},
                {"aten.batch_norm", batch_norm},
                {"aten._native_batch_norm_legit_no_training", batch_norm}});
}

}  // namespace ww::writer
