// SPDX-License-Identifier: Apache-2.0
//
// Reductions, scans, softmax and losses.
#include <cmath>
#include <limits>
#include <numeric>

#include "writer/lower.h"

namespace ww::writer {

std::vector<size_t> reduced_dims(Lowering& lowering, int id, size_t position, std::string_view keyword) {
  const size_t rank = lowering.shape(id).size();
  std::vector<size_t> dims;
  for (const int64_t dim : lowering.integers(position, keyword)) dims.push_back(Lowering::wrap(dim, rank));
  if (dims.empty()) {
    dims.resize(rank);
    std::iota(dims.begin(), dims.end(), size_t{0});
  }
  if (rank == 0) dims.clear();
  return dims;
}

int mean(Lowering& lowering, int id, const std::vector<size_t>& dims, bool keep) {
  double count = 1;
  for (const size_t dim : dims) count *= static_cast<double>(lowering.shape(id)[dim]);
  return lowering.apply("div", lowering.reduce("sum", lowering.widen(id), dims, keep), count);
}

int softmax(Lowering& lowering, int id, size_t dim, bool logarithm) {
  const int x = lowering.widen(id);
  if (lowering.shape(x).empty()) {
    lowering.refuse("of a scalar");
    return x;
  }
  const DType type = lowering.node(x).dtype;
  const int shifted = lowering.apply("sub", {x, lowering.reduce("max", x, {dim}, true)});
  const int power = lowering.map("exp", type, {shifted});
  const int sum = lowering.reduce("sum", power, {dim}, true);
  if (logarithm) return lowering.apply("sub", {shifted, lowering.map("log", type, {sum})});
  return lowering.apply("mul", {power, lowering.map("reciprocal", type, {sum})});
}

namespace {

bool flag(Lowering& lowering, size_t position, std::string_view keyword) {
  return lowering.integer(position, keyword, 0) != 0;
}

template <const char* Function>
void reduction(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const std::string name = Function;
  DType type = compute_type(lowering.result().dtype);
  if (name == "any" || name == "all") type = DType::kBool;
  const auto dims = reduced_dims(lowering, x, 1);
  lowering.define(lowering.reduce(Function, lowering.cast(x, type), dims, flag(lowering, 2, "keepdim")));
}

void mean_handler(Lowering& lowering) {
  const bool all = lowering.overload() == "default";
  const int x = lowering.tensor(0);
  const auto dims = all ? reduced_dims(lowering, x, 99, "") : reduced_dims(lowering, x, 1);
  lowering.define(mean(lowering, x, dims, !all && flag(lowering, 2, "keepdim")));
}

void sum_handler(Lowering& lowering) {
  const bool all = lowering.overload() == "default";
  const int x = lowering.tensor(0);
  const auto dims = all ? reduced_dims(lowering, x, 99, "") : reduced_dims(lowering, x, 1);
  const DType type = compute_type(lowering.result().dtype);
  lowering.define(lowering.reduce("sum", lowering.cast(x, type), dims, !all && flag(lowering, 2, "keepdim")));
}

// (variance, mean); with the second argument a bool it is `unbiased`.
void variance(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const task::Argument* second = lowering.argument(1, "dim");
  const bool no_dims = second && std::holds_alternative<bool>(second->value);
  const auto dims = no_dims ? reduced_dims(lowering, x, 99, "") : reduced_dims(lowering, x, 1);
  double correction = lowering.number(99, "correction", 1);
  if (lowering.overload() == "dim") correction = lowering.integer(2, "unbiased", 1) != 0 ? 1 : 0;
  if (no_dims) correction = lowering.integer(1, "unbiased", 1) != 0 ? 1 : 0;
  const bool keep = lowering.overload() == "correction" ? flag(lowering, 99, "keepdim") : flag(lowering, 3, "keepdim");
  double count = 1;
  for (const size_t dim : dims) count *= static_cast<double>(lowering.shape(x)[dim]);
  const int center = lowering.apply("sub", {x, mean(lowering, x, dims, true)});
  const int squares = lowering.reduce("sum", lowering.apply("mul", {center, center}), dims, keep);
  const int result = lowering.apply("div", squares, count - correction);
  const std::string& op = lowering.current().op;
  const bool root = op.rfind("aten.std", 0) == 0;
  lowering.define(root ? lowering.apply("sqrt", {result}) : result);
  if (lowering.current().outputs.size() > 1) lowering.define(mean(lowering, x, dims, keep), 1);
}

void norm(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const auto dims = reduced_dims(lowering, x, 2);
  const double order = lowering.number(1, "ord", 2);
  const bool keep = flag(lowering, 3, "keepdim");
  if (order == 2) {
    const int squares = lowering.apply("mul", {x, x});
    return lowering.define(lowering.apply("sqrt", {lowering.reduce("sum", squares, dims, keep)}));
  }
  const int size = lowering.apply("abs", {x});
  if (order == 1) return lowering.define(lowering.reduce("sum", size, dims, keep));
  if (std::isinf(order)) return lowering.define(lowering.reduce(order > 0 ? "max" : "min", size, dims, keep));
  lowering.refuse("order");
}

// Position of the first extreme element: the smallest index at which the extreme value stands.
int extreme_position(Lowering& lowering, int x, int extreme, size_t dim, bool keep) {
  const bool small = lowering.shape(x)[dim] < std::numeric_limits<int32_t>::max();
  const DType type = small ? DType::kInt32 : DType::kInt64;
  const int hit = lowering.map("eq", DType::kBool, {x, extreme});
  const int beyond = lowering.constant(static_cast<double>(lowering.shape(x)[dim]) - 1, type);
  const int position = lowering.iota(lowering.shape(x), static_cast<int64_t>(dim), type);
  return lowering.reduce("min", lowering.map("where", type, {hit, position, beyond}), {dim}, keep);
}

template <const char* Function>
void arg_extreme(Lowering& lowering) {
  int x = lowering.widen(lowering.tensor(0));
  if (!lowering.has(1, "dim")) x = lowering.reshape(x, {elements(lowering.shape(x))});
  const size_t dim =
      Lowering::wrap(lowering.has(1, "dim") ? lowering.integer(1, "dim", 0) : 0, lowering.shape(x).size());
  if (lowering.shape(x).empty()) return lowering.refuse("of a scalar");
  const int extreme = lowering.reduce(Function, x, {dim}, true);
  const int position = extreme_position(lowering, x, extreme, dim, flag(lowering, 2, "keepdim"));
  lowering.define(lowering.reshape(position, lowering.result().shape));
}

// max and min: of everything, of two tensors, or (values, positions) along a dimension.
template <const char* Function>
void extreme(Lowering& lowering) {
  const DType type = compute_type(lowering.result().dtype);
  const int x = lowering.cast(lowering.tensor(0), type);
  if (lowering.overload() == "other") {
    return lowering.define(lowering.map(Function, type, {x, lowering.operand(1, "other", type)}));
  }
  if (lowering.overload() == "default") {
    return lowering.define(lowering.reduce(Function, x, reduced_dims(lowering, x, 99, ""), false));
  }
  if (lowering.shape(x).empty()) return lowering.refuse("of a scalar");
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", 0), lowering.shape(x).size());
  const bool keep = flag(lowering, 2, "keepdim");
  const int value = lowering.reduce(Function, x, {dim}, true);
  lowering.define(lowering.reshape(value, lowering.result().shape));
  lowering.define(extreme_position(lowering, x, value, dim, keep), 1);
}

void softmax_handler(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const std::string& op = lowering.current().op;
  const bool logarithm = op.find("log_softmax") != std::string::npos;
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", -1), lowering.shape(x).size());
  lowering.define(softmax(lowering, x, dim, logarithm));
}

void logsumexp(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const auto dims = reduced_dims(lowering, x, 1);
  const int top = lowering.reduce("max", x, dims, true);
  const int sum = lowering.reduce("sum", lowering.apply("exp", {lowering.apply("sub", {x, top})}), dims, true);
  const int result = lowering.apply("add", {lowering.apply("log", {sum}), top});
  lowering.define(lowering.reshape(result, lowering.result().shape));
}

void cumsum(Lowering& lowering) {
  const DType type = compute_type(lowering.result().dtype);
  const int x = lowering.cast(lowering.tensor(0), type);
  lowering.define(lowering.scan("sum", x, Lowering::wrap(lowering.integer(1, "dim", 0), lowering.shape(x).size())));
}

// Negative log-likelihood of `scores` (n, classes, rest..) at int64 targets (n, rest..).
void negative_log_likelihood(Lowering& lowering, int scores, int target, size_t first_option) {
  const DType type = lowering.node(scores).dtype;
  const size_t rank = lowering.shape(scores).size();
  if (task::is_floating(lowering.node(target).dtype)) return lowering.refuse("with class probabilities");
  const size_t class_dim = rank == 1 ? 0 : 1;
  const int64_t reduction = lowering.integer(first_option + 1, "reduction", 1);
  const double ignored = lowering.number(first_option + 2, "ignore_index", -100);
  if (lowering.number(first_option + 3, "label_smoothing", 0) != 0) return lowering.refuse("label smoothing");
  const Shape shape = lowering.shape(target);
  const int valid = lowering.map("ne", DType::kBool, {target, lowering.constant(ignored, lowering.node(target).dtype)});
  const int safe = lowering.map("where", DType::kInt64,
                                {valid, lowering.cast(target, DType::kInt64), lowering.constant(0, DType::kInt64)});
  const Index chosen = Index::variable("g0", 0, lowering.shape(scores)[class_dim] - 1);
  Indices at = output_variables(shape);
  at.insert(at.begin() + static_cast<ptrdiff_t>(class_dim), chosen);
  const int zero = lowering.constant(0, type);
  int loss = lowering.apply("neg", {lowering.gather(scores, {safe}, shape, at)});
  int weight = lowering.map("where", type, {valid, lowering.constant(1, type), zero});
  if (const auto weights = lowering.optional_tensor(first_option, "weight")) {
    const int factor = lowering.gather(lowering.cast(*weights, type), {safe}, shape, {chosen});
    weight = lowering.map("where", type, {valid, factor, zero});
    loss = lowering.apply("mul", {loss, factor});
  }
  loss = lowering.map("where", type, {valid, loss, zero});
  if (reduction == 0) return lowering.define(loss);
  const auto everything = reduced_dims(lowering, loss, 99, "");
  const int sum = lowering.reduce("sum", loss, everything, false);
  if (reduction == 2) return lowering.define(sum);
  lowering.define(lowering.apply("div", {sum, lowering.reduce("sum", weight, everything, false)}));
}

void nll_loss(Lowering& lowering) {
  const int scores = lowering.widen(lowering.tensor(0));
  negative_log_likelihood(lowering, scores, lowering.tensor(1, "target"), 2);
}

void cross_entropy(Lowering& lowering) {
  const int x = lowering.tensor(0);
  const int scores = softmax(lowering, x, lowering.shape(x).size() == 1 ? 0 : 1, true);
  negative_log_likelihood(lowering, scores, lowering.tensor(1, "target"), 2);
}

// none, mean, sum
void reduce_loss(Lowering& lowering, int loss, int64_t kind) {
  if (kind == 0) return lowering.define(loss);
  const auto everything = reduced_dims(lowering, loss, 99, "");
  lowering.define(kind == 1 ? mean(lowering, loss, everything, false)
                            : lowering.reduce("sum", loss, everything, false));
}

void pair_loss(Lowering& lowering) {
  const DType type = compute_type(lowering.result().dtype);
  const int difference =
      lowering.map("sub", type, {lowering.operand(0, "self", type), lowering.operand(1, "target", type)});
  const bool squared = lowering.current().op.rfind("aten.mse_loss", 0) == 0;
  const int loss = squared ? lowering.apply("mul", {difference, difference}) : lowering.apply("abs", {difference});
  reduce_loss(lowering, loss, lowering.integer(2, "reduction", 1));
}

// Quadratic below the threshold, linear beyond: d * d / 2 / beta and |d| - beta / 2; Huber's is beta times that.
void smooth_loss(Lowering& lowering) {
  const DType type = compute_type(lowering.result().dtype);
  const bool huber = lowering.current().op.rfind("aten.huber_loss", 0) == 0;
  const double beta = lowering.number(3, huber ? "delta" : "beta", 1);
  const int difference =
      lowering.map("sub", type, {lowering.operand(0, "self", type), lowering.operand(1, "target", type)});
  const int size = lowering.apply("abs", {difference});
  const int near = lowering.apply("mul", lowering.apply("mul", {size, size}), huber ? 0.5 : 0.5 / beta);
  const int far = lowering.apply("mul", lowering.apply("add", size, -beta / 2), huber ? beta : 1);
  const int inside = lowering.map("lt", DType::kBool, {size, lowering.constant(beta, type)});
  reduce_loss(lowering, lowering.map("where", type, {inside, near, far}), lowering.integer(2, "reduction", 1));
}

// target * (log(target) - input), 0 where the target is 0.
void kl_divergence(Lowering& lowering) {
  const DType type = compute_type(lowering.result().dtype);
  const int input = lowering.operand(0, "self", type), target = lowering.operand(1, "target", type);
  const bool logarithms = lowering.integer(3, "log_target", 0) != 0;
  const int weight = logarithms ? lowering.apply("exp", {target}) : target;
  const int logarithm = logarithms ? target : lowering.apply("log", {target});
  const int loss = lowering.apply("mul", {weight, lowering.apply("sub", {logarithm, input})});
  const int zero = lowering.constant(0, type);
  const int positive = lowering.map("gt", DType::kBool, {weight, zero});
  reduce_loss(lowering, lowering.map("where", type, {positive, loss, zero}), lowering.integer(2, "reduction", 1));
}

// max(x, 0) - x * target + log(1 + exp(-|x|))
void logistic_loss(Lowering& lowering) {
  const DType type = compute_type(lowering.result().dtype);
  if (lowering.has(2, "weight") || lowering.has(3, "pos_weight")) return lowering.refuse("with weights");
  const int x = lowering.operand(0, "self", type), target = lowering.operand(1, "target", type);
  const int decay = lowering.apply("exp", {lowering.apply("neg", {lowering.apply("abs", {x})})});
  const int linear = lowering.apply("sub", {lowering.apply("relu", {x}), lowering.apply("mul", {x, target})});
  const int loss = lowering.apply("add", {linear, lowering.apply("log1p", {decay})});
  reduce_loss(lowering, loss, lowering.integer(4, "reduction", 1));
}

constexpr char kProd[] = "prod", kMax[] = "max", kMin[] = "min", kAny[] = "any", kAll[] = "all";

}  // namespace

void add_reduction_handlers(HandlerTable& table) {
  table.insert({{"aten.sum", sum_handler},
                {"aten.mean", mean_handler},
                {"aten.prod", reduction<kProd>},
                {"aten.amax", reduction<kMax>},
                {"aten.amin", reduction<kMin>},
                {"aten.any", reduction<kAny>},
                {"aten.all", reduction<kAll>},
                {"aten.max", extreme<kMax>},
                {"aten.min", extreme<kMin>},
                {"aten.argmax", arg_extreme<kMax>},
                {"aten.argmin", arg_extreme<kMin>},
                {"aten.var", variance},
                {"aten.std", variance},
                {"aten.var_mean", variance},
                {"aten.linalg_vector_norm", norm},
                {"aten.logsumexp", logsumexp},
                {"aten.softmax", softmax_handler},
                {"aten._softmax", softmax_handler},
                {"aten.log_softmax", softmax_handler},
                {"aten._log_softmax", softmax_handler},
                {"aten.cumsum", cumsum},
                {"aten.nll_loss_nd", nll_loss},
                {"aten.nll_loss", nll_loss},
                {"aten.nll_loss_forward", nll_loss},
                {"aten.cross_entropy_loss", cross_entropy},
                {"aten.mse_loss", pair_loss},
                {"aten.smooth_l1_loss", smooth_loss},
                {"aten.huber_loss", smooth_loss},
                {"aten.kl_div", kl_divergence},
                {"aten.binary_cross_entropy_with_logits", logistic_loss},
                {"aten.l1_loss", pair_loss}});
}

}  // namespace ww::writer
