// SPDX-License-Identifier: Apache-2.0
//
// C++ spelling of types, numbers and elementwise functions.
#include <cmath>
#include <cstdio>
#include <map>

#include "base/fault.h"
#include "writer/emit.h"

namespace ww::writer {

std::string value_type(DType dtype) {
  switch (compute_type(dtype)) {
    case DType::kFloat64:
      return "double";
    case DType::kFloat32:
      return "float";
    case DType::kInt64:
      return "int64_t";
    case DType::kInt32:
      return "int32_t";
    case DType::kInt16:
      return "int16_t";
    case DType::kInt8:
      return "int8_t";
    case DType::kUInt8:
      return "uint8_t";
    default:
      return "bool";
  }
}

std::string storage_type(DType dtype) {
  if (dtype == DType::kBfloat16) return "ww_bf16";
  if (dtype == DType::kFloat16) return "ww_fp16";
  return dtype == DType::kBool ? "uint8_t" : value_type(dtype);
}

std::string from_storage(DType dtype, const std::string& element) {
  if (dtype == DType::kBfloat16) return "math::from_bf16(" + element + ")";
  if (dtype == DType::kFloat16) return "math::from_fp16(" + element + ")";
  return dtype == DType::kBool ? element + " != 0" : element;
}

std::string to_storage(DType dtype, const std::string& value) {
  if (dtype == DType::kBfloat16) return "math::to_bf16(" + value + ")";
  if (dtype == DType::kFloat16) return "math::to_fp16(" + value + ")";
  return value;
}

std::string literal(double number, DType dtype) {
  if (dtype == DType::kBool) return number != 0 ? "true" : "false";
  if (!task::is_floating(dtype)) return std::to_string(static_cast<int64_t>(number));
  const bool wide = dtype == DType::kFloat64;
  if (std::isnan(number)) return wide ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (std::isinf(number))
    return (number < 0 ? std::string("-") : std::string()) + (wide ? "__builtin_inf()" : "math::kInfinity");
  char text[40];
  std::snprintf(text, sizeof text, wide ? "%.17g" : "%.9g", number);
  std::string result = text;
  if (result.find_first_of(".en") == std::string::npos) result += ".0";
  return wide ? result : result + "f";
}

namespace {

std::string conversion(const Node& node, const std::string& x, DType from) {
  const DType to = compute_type(node.dtype);
  if (to == compute_type(from)) return x;
  if (to == DType::kBool) return x + " != " + literal(0, from);
  return "(" + value_type(to) + ")" + x;
}

std::string rounding(const Node& node, const std::string& x, DType from) {
  const std::string narrow = compute_type(from) == DType::kFloat64 ? "(float)" + x : x;
  return node.dtype == DType::kFloat32 ? narrow : from_storage(node.dtype, to_storage(node.dtype, narrow));
}

}  // namespace

std::string map_expression(const Node& node, const std::vector<std::string>& x, DType operand_type) {
  static const std::map<std::string, std::string> infix{
      {"add", " + "}, {"sub", " - "}, {"mul", " * "}, {"div", " / "}, {"eq", " == "}, {"ne", " != "}, {"lt", " < "},
      {"le", " <= "}, {"gt", " > "},  {"ge", " >= "}, {"and", " & "}, {"or", " | "},  {"xor", " ^ "}};
  if (const auto found = infix.find(node.op); found != infix.end()) return x[0] + found->second + x[1];
  if (node.op == "where") return x[0] + " ? " + x[1] + " : " + x[2];
  if (node.op == "neg") return "-" + (x[0][0] == '-' ? "(" + x[0] + ")" : x[0]);
  if (node.op == "not") return "!" + x[0];
  if (node.op == "cast") return conversion(node, x[0], operand_type);
  if (node.op == "round_to") return rounding(node, x[0], operand_type);
  if (node.op == "sign") {
    const std::string type = value_type(node.dtype), zero = literal(0, node.dtype);
    return "(" + type + ")((" + x[0] + " > " + zero + ") - (" + x[0] + " < " + zero + "))";
  }
  std::string text = "math::" + node.op + "(";
  for (size_t i = 0; i < x.size(); ++i) text += (i ? ", " : "") + x[i];
  return text + ")";
}

std::string value_text(const Shape& shape, DType dtype) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "] " + std::string(task::name(dtype));
}

std::string kernel_name(const WorkloadPlan& plan, int kernel) {
  std::string name = operator_names(plan, plan.kernels[static_cast<size_t>(kernel)]);
  std::string text = "k" + std::to_string(kernel) + "_";
  for (const char c : name) {
    if (c != ' ') text += c == ',' ? '_' : c;
  }
  constexpr size_t kLongestName = 60;
  return text.substr(0, kLongestName);
}

std::string indent(const std::string& text, int spaces) {
  std::string result;
  bool fresh = true;
  for (const char c : text) {
    if (fresh && c != '\n' && c != '#') result.append(static_cast<size_t>(spaces), ' ');
    result += c;
    fresh = c == '\n';
  }
  return result;
}

}  // namespace ww::writer
