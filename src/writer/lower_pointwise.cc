// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ATen operators.
#include <cmath>
#include <limits>

#include "writer/lower.h"

namespace ww::writer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

DType result_type(const Lowering& lowering) { return compute_type(lowering.result().dtype); }

DType promote(DType a, DType b) {
  const bool floating_a = task::is_floating(a);
  if (floating_a != task::is_floating(b)) return compute_type(floating_a ? a : b);
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  return task::bytes_per_element(a) >= task::bytes_per_element(b) ? compute_type(a) : compute_type(b);
}

// Type in which two operands are compared; a Python number does not widen a tensor's type within its kind.
DType comparison_type(Lowering& lowering) {
  const DType a = lowering.node(lowering.tensor(0, "self")).dtype;
  if (const auto other = lowering.optional_tensor(1, "other")) return promote(a, lowering.node(*other).dtype);
  const double value = lowering.number(1, "other", 0);
  return std::floor(value) != value && !task::is_floating(a) ? DType::kFloat32 : compute_type(a);
}

template <const char* Function>
void unary(Lowering& lowering) {
  const DType type = result_type(lowering);
  lowering.define(lowering.map(Function, type, {lowering.cast(lowering.tensor(0), type)}));
}

template <const char* Function>
void binary(Lowering& lowering) {
  const DType type = result_type(lowering);
  lowering.define(
      lowering.map(Function, type, {lowering.operand(0, "self", type), lowering.operand(1, "other", type)}));
}

template <const char* Function>
void comparison(Lowering& lowering) {
  const DType type = comparison_type(lowering);
  const int a = lowering.operand(0, "self", type);
  lowering.define(lowering.map(Function, DType::kBool, {a, lowering.operand(1, "other", type)}));
}

// add and sub carry a factor for the second operand.
template <const char* Function>
void scaled_binary(Lowering& lowering) {
  const DType type = result_type(lowering);
  int other = lowering.operand(1, "other", type);
  const double alpha = lowering.number(2, "alpha", 1);
  if (alpha != 1) other = lowering.map("mul", type, {other, lowering.constant(alpha, type)});
  const bool reversed = lowering.current().op.rfind("aten.rsub", 0) == 0;
  const int self = lowering.operand(0, "self", type);
  lowering.define(reversed ? lowering.map(Function, type, {other, self}) : lowering.map(Function, type, {self, other}));
}

void divide(Lowering& lowering) {
  const DType type = result_type(lowering);
  const std::string rounding = lowering.text(2, "rounding_mode", "");
  if (!task::is_floating(type)) return lowering.refuse("integer division");
  int quotient = lowering.map("div", type, {lowering.operand(0, "self", type), lowering.operand(1, "other", type)});
  if (!rounding.empty()) quotient = lowering.map(rounding == "floor" ? "floor" : "trunc", type, {quotient});
  lowering.define(quotient);
}

void power(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int base = lowering.operand(0, "self", type);
  if (lowering.optional_tensor(1, "exponent")) {
    return lowering.define(lowering.map("pow", type, {base, lowering.operand(1, "exponent", type)}));
  }
  const double exponent = lowering.number(1, "exponent", 1);
  if (exponent == 1) return lowering.define(base);
  if (exponent == 2 || exponent == 3) {
    const int square = lowering.map("mul", type, {base, base});
    return lowering.define(exponent == 2 ? square : lowering.map("mul", type, {square, base}));
  }
  if (exponent == 0.5) return lowering.define(lowering.map("sqrt", type, {base}));
  if (exponent == -0.5) return lowering.define(lowering.map("rsqrt", type, {base}));
  if (exponent == -1) return lowering.define(lowering.map("reciprocal", type, {base}));
  lowering.define(lowering.map("pow", type, {base, lowering.constant(exponent, type)}));
}

int clamp(Lowering& lowering, int x, double low, double high) {
  const DType type = lowering.node(x).dtype;
  if (low != -kInfinity) x = lowering.map("max", type, {x, lowering.constant(low, type)});
  if (high != kInfinity) x = lowering.map("min", type, {x, lowering.constant(high, type)});
  return x;
}

void clamp_handler(Lowering& lowering) {
  const DType type = result_type(lowering);
  int x = lowering.operand(0, "self", type);
  const bool low_only = lowering.current().op.rfind("aten.clamp_min", 0) == 0;
  const bool high_only = lowering.current().op.rfind("aten.clamp_max", 0) == 0;
  if (!high_only && lowering.has(1, "min")) x = lowering.map("max", type, {x, lowering.operand(1, "min", type)});
  const size_t position = high_only ? 1 : 2;
  if (!low_only && lowering.has(position, "max")) {
    x = lowering.map("min", type, {x, lowering.operand(position, "max", type)});
  }
  lowering.define(x);
}

void hardtanh(Lowering& lowering) {
  const int x = lowering.operand(0, "self", result_type(lowering));
  if (lowering.current().op.rfind("aten.relu6", 0) == 0) return lowering.define(clamp(lowering, x, 0, 6));
  lowering.define(clamp(lowering, x, lowering.number(1, "min_val", -1), lowering.number(2, "max_val", 1)));
}

// clamp(x / 6 + 1 / 2, 0, 1), times x for hardswish.
void hardsigmoid(Lowering& lowering) {
  const int x = lowering.operand(0, "self", result_type(lowering));
  const int gate = lowering.apply("mul", clamp(lowering, lowering.apply("add", x, 3), 0, 6), 1.0 / 6);
  const bool swish = lowering.current().op.rfind("aten.hardswish", 0) == 0;
  lowering.define(swish ? lowering.apply("mul", {x, gate}) : gate);
}

void gelu(Lowering& lowering) {
  const DType type = result_type(lowering);
  const bool tanh = lowering.text(1, "approximate", "none") == "tanh";
  lowering.define(lowering.map(tanh ? "gelu_tanh" : "gelu", type, {lowering.operand(0, "self", type)}));
}

// The first half times the sigmoid of the second.
void gated_linear(Lowering& lowering) {
  const int x = lowering.widen(lowering.tensor(0));
  const size_t dim = Lowering::wrap(lowering.integer(1, "dim", -1), lowering.shape(x).size());
  const Shape half = lowering.result().shape;
  const Indices first = output_variables(half);
  Indices second = first;
  second[dim] = second[dim] + half[dim];
  const int gate = lowering.apply("sigmoid", {lowering.view(x, half, second)});
  lowering.define(lowering.apply("mul", {lowering.view(x, half, first), gate}));
}

void square(Lowering& lowering) {
  const int x = lowering.cast(lowering.tensor(0), result_type(lowering));
  lowering.define(lowering.map("mul", lowering.node(x).dtype, {x, x}));
}

void threshold(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int x = lowering.operand(0, "self", type);
  const int above = lowering.map("gt", DType::kBool, {x, lowering.operand(1, "threshold", type)});
  lowering.define(lowering.map("where", type, {above, x, lowering.operand(2, "value", type)}));
}

void outer(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int column = lowering.unsqueeze(lowering.operand(0, "self", type), 1);
  lowering.define(lowering.map("mul", type, {column, lowering.operand(1, "vec2", type)}));
}

void leaky_relu(Lowering& lowering) {
  const int x = lowering.operand(0, "self", result_type(lowering));
  const int positive = lowering.map("gt", DType::kBool, {x, lowering.constant(0, lowering.node(x).dtype)});
  const int scaled = lowering.apply("mul", x, lowering.number(1, "negative_slope", 0.01));
  lowering.define(lowering.map("where", lowering.node(x).dtype, {positive, x, scaled}));
}

void elu(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int x = lowering.operand(0, "self", type);
  const bool selu = lowering.current().op.rfind("aten.selu", 0) == 0;
  const double alpha = selu ? 1.6732632423543772 : lowering.number(1, "alpha", 1);
  const double scale = selu ? 1.0507009873554805 : lowering.number(2, "scale", 1);
  const int positive = lowering.map("gt", DType::kBool, {x, lowering.constant(0, type)});
  const int negative = lowering.apply("mul", lowering.map("expm1", type, {x}), alpha * scale);
  lowering.define(lowering.map("where", type, {positive, lowering.apply("mul", x, scale), negative}));
}

// log(1 + exp(x)) without overflow; mish is x * tanh of it.
void softplus(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int x = lowering.operand(0, "self", type);
  const bool mish = lowering.current().op.rfind("aten.mish", 0) == 0;
  const double beta = mish ? 1 : lowering.number(1, "beta", 1);
  const double threshold = mish ? 20 : lowering.number(2, "threshold", 20);
  const int scaled = lowering.apply("mul", x, beta);
  const int exact = lowering.apply("mul", lowering.map("log1p", type, {lowering.map("exp", type, {scaled})}), 1 / beta);
  const int linear = lowering.map("gt", DType::kBool, {scaled, lowering.constant(threshold, type)});
  const int result = lowering.map("where", type, {linear, x, exact});
  lowering.define(mish ? lowering.apply("mul", {x, lowering.map("tanh", type, {result})}) : result);
}

// log(sigmoid(x)) = min(x, 0) - log(1 + exp(-|x|))
void logsigmoid(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int x = lowering.operand(0, "self", type);
  const int decay = lowering.map("exp", type, {lowering.map("neg", type, {lowering.map("abs", type, {x})})});
  lowering.define(lowering.apply("sub", {clamp(lowering, x, -kInfinity, 0), lowering.map("log1p", type, {decay})}));
}

void where(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int condition = lowering.cast(lowering.tensor(0, "condition"), DType::kBool);
  const int a = lowering.operand(1, "self", type);
  lowering.define(lowering.map("where", type, {condition, a, lowering.operand(2, "other", type)}));
}

void masked_fill(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int mask = lowering.cast(lowering.tensor(1, "mask"), DType::kBool);
  const int x = lowering.operand(0, "self", type);
  lowering.define(lowering.map("where", type, {mask, lowering.operand(2, "value", type), x}));
}

template <const char* Function>
void logical(Lowering& lowering) {
  const int a = lowering.cast(lowering.tensor(0, "self"), DType::kBool);
  lowering.define(lowering.map(Function, DType::kBool, {a, lowering.operand(1, "other", DType::kBool)}));
}

void logical_not(Lowering& lowering) {
  const int x = lowering.tensor(0, "self");
  const bool bitwise = lowering.current().op.rfind("aten.bitwise_not", 0) == 0;
  if (bitwise && lowering.node(x).dtype != DType::kBool) return lowering.refuse("of integers");
  lowering.define(lowering.map("not", DType::kBool, {lowering.cast(x, DType::kBool)}));
}

template <const char* Function>
void bitwise(Lowering& lowering) {
  if (lowering.result().dtype != DType::kBool) return lowering.refuse("of integers");
  logical<Function>(lowering);
}

// self + value * a * b, or a / b
void add_product(Lowering& lowering) {
  const DType type = result_type(lowering);
  const bool divides = lowering.current().op.rfind("aten.addcdiv", 0) == 0;
  const int a = lowering.operand(1, "tensor1", type);
  const int b = lowering.operand(2, "tensor2", type);
  const int product = lowering.map(divides ? "div" : "mul", type, {a, b});
  const int scaled = lowering.map("mul", type, {product, lowering.constant(lowering.number(3, "value", 1), type)});
  lowering.define(lowering.map("add", type, {lowering.operand(0, "self", type), scaled}));
}

void lerp(Lowering& lowering) {
  const DType type = result_type(lowering);
  const int start = lowering.operand(0, "self", type);
  const int span = lowering.map("sub", type, {lowering.operand(1, "end", type), start});
  lowering.define(lowering.apply("add", {start, lowering.apply("mul", {lowering.operand(2, "weight", type), span})}));
}

// A conversion the reference asks for does round.
void convert(Lowering& lowering) {
  const DType type = lowering.result().dtype;
  const int x = lowering.tensor(0, "self");
  const bool narrows = task::is_floating(type) && task::is_floating(lowering.node(x).dtype) &&
                       task::bytes_per_element(type) < task::bytes_per_element(lowering.node(x).dtype);
  lowering.define(narrows ? lowering.map("round_to", type, {x}) : lowering.cast(x, type));
}

void identity(Lowering& lowering) { lowering.define(lowering.tensor(0)); }

void dropout(Lowering& lowering) {
  const task::Argument* train = lowering.argument(2, "train");
  const bool* active = train ? std::get_if<bool>(&train->value) : nullptr;
  if (active && *active && lowering.number(1, "p", 0) > 0) return lowering.refuse("in training mode");
  identity(lowering);
}

constexpr char kAdd[] = "add", kSub[] = "sub", kMul[] = "mul", kMax[] = "max", kMin[] = "min", kPow[] = "pow";
constexpr char kEq[] = "eq", kNe[] = "ne", kLt[] = "lt", kLe[] = "le", kGt[] = "gt", kGe[] = "ge";
constexpr char kAnd[] = "and", kOr[] = "or", kXor[] = "xor", kNeg[] = "neg", kAbs[] = "abs", kExp[] = "exp";
constexpr char kExp2[] = "exp2", kExpm1[] = "expm1", kLog[] = "log", kLog2[] = "log2", kLog10[] = "log10";
constexpr char kLog1p[] = "log1p", kSqrt[] = "sqrt", kRsqrt[] = "rsqrt", kSin[] = "sin", kCos[] = "cos";
constexpr char kTan[] = "tan", kTanh[] = "tanh", kSigmoid[] = "sigmoid", kErf[] = "erf", kFloor[] = "floor";
constexpr char kCeil[] = "ceil", kRound[] = "round", kTrunc[] = "trunc", kSign[] = "sign", kRelu[] = "relu";
constexpr char kSilu[] = "silu", kReciprocal[] = "reciprocal";

void add_arithmetic(HandlerTable& table) {
  table.insert({{"aten.add", scaled_binary<kAdd>},
                {"aten.sub", scaled_binary<kSub>},
                {"aten.rsub", scaled_binary<kSub>},
                {"aten.mul", binary<kMul>},
                {"aten.div", divide},
                {"aten.pow", power},
                {"aten.maximum", binary<kMax>},
                {"aten.minimum", binary<kMin>},
                {"aten.add_", scaled_binary<kAdd>},
                {"aten.sub_", scaled_binary<kSub>},
                {"aten.mul_", binary<kMul>},
                {"aten.div_", divide},
                {"aten.relu_", unary<kRelu>},
                {"aten.silu_", unary<kSilu>},
                {"aten.addcmul", add_product},
                {"aten.addcdiv", add_product},
                {"aten.lerp", lerp}});
  table.insert({{"aten.eq", comparison<kEq>},
                {"aten.ne", comparison<kNe>},
                {"aten.lt", comparison<kLt>},
                {"aten.le", comparison<kLe>},
                {"aten.gt", comparison<kGt>},
                {"aten.ge", comparison<kGe>},
                {"aten.logical_and", logical<kAnd>},
                {"aten.logical_or", logical<kOr>},
                {"aten.logical_xor", logical<kXor>},
                {"aten.logical_not", logical_not},
                {"aten.bitwise_and", bitwise<kAnd>},
                {"aten.bitwise_or", bitwise<kOr>},
                {"aten.bitwise_xor", bitwise<kXor>},
                {"aten.bitwise_not", logical_not},
                {"aten.__and__", bitwise<kAnd>},
                {"aten.__or__", bitwise<kOr>},
                {"aten.__xor__", bitwise<kXor>}});
}

void add_functions(HandlerTable& table) {
  table.insert({{"aten.neg", unary<kNeg>},
                {"aten.abs", unary<kAbs>},
                {"aten.exp", unary<kExp>},
                {"aten.exp2", unary<kExp2>},
                {"aten.expm1", unary<kExpm1>},
                {"aten.log", unary<kLog>},
                {"aten.log2", unary<kLog2>},
                {"aten.log10", unary<kLog10>},
                {"aten.log1p", unary<kLog1p>},
                {"aten.sqrt", unary<kSqrt>},
                {"aten.rsqrt", unary<kRsqrt>},
                {"aten.sin", unary<kSin>},
                {"aten.cos", unary<kCos>},
                {"aten.tan", unary<kTan>},
                {"aten.tanh", unary<kTanh>},
                {"aten.sigmoid", unary<kSigmoid>},
                {"aten.erf", unary<kErf>},
                {"aten.floor", unary<kFloor>},
                {"aten.ceil", unary<kCeil>},
                {"aten.round", unary<kRound>},
                {"aten.trunc", unary<kTrunc>},
                {"aten.sign", unary<kSign>},
                {"aten.relu", unary<kRelu>},
                {"aten.silu", unary<kSilu>},
                {"aten.reciprocal", unary<kReciprocal>}});
  table.insert({{"aten.gelu", gelu},
                {"aten.glu", gated_linear},
                {"aten.square", square},
                {"aten.threshold", threshold},
                {"aten.outer", outer},
                {"aten.leaky_relu", leaky_relu},
                {"aten.elu", elu},
                {"aten.selu", elu},
                {"aten.softplus", softplus},
                {"aten.mish", softplus},
                {"aten.log_sigmoid", logsigmoid},
                {"aten.clamp", clamp_handler},
                {"aten.clamp_min", clamp_handler},
                {"aten.clamp_max", clamp_handler},
                {"aten.hardtanh", hardtanh},
                {"aten.relu6", hardtanh},
                {"aten.hardsigmoid", hardsigmoid},
                {"aten.hardswish", hardsigmoid},
                {"aten.where", where},
                {"aten.masked_fill", masked_fill}});
  table.insert({{"aten._to_copy", convert},
                {"aten.to", convert},
                {"aten.type_as", convert},
                {"aten.float", convert},
                {"prims.convert_element_type", convert},
                {"aten.clone", identity},
                {"aten.contiguous", identity},
                {"aten.detach", identity},
                {"aten.detach_", identity},
                {"aten.alias", identity},
                {"aten.lift_fresh_copy", identity},
                {"aten.dropout", dropout}});
}

}  // namespace

void add_pointwise_handlers(HandlerTable& table) {
  add_arithmetic(table);
  add_functions(table);
}

}  // namespace ww::writer
