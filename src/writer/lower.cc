// SPDX-License-Identifier: Apache-2.0
#include "writer/lower.h"

#include <algorithm>
#include <numeric>

namespace ww::writer {
namespace {

using task::Argument;

const HandlerTable& handlers() {
  static const HandlerTable table = [] {
    HandlerTable all;
    add_pointwise_handlers(all);
    add_shape_handlers(all);
    add_reduction_handlers(all);
    add_norm_handlers(all);
    add_contraction_handlers(all);
    add_lookup_handlers(all);
    return all;
  }();
  return table;
}

// "aten.add.Tensor" is "aten.add" and "Tensor".
std::pair<std::string, std::string> split_overload(const std::string& op) {
  const size_t first = op.find('.');
  const size_t second = first == std::string::npos ? first : op.find('.', first + 1);
  if (second == std::string::npos) return {op, ""};
  return {op.substr(0, second), op.substr(second + 1)};
}

std::optional<double> as_number(const Argument& argument) {
  if (const auto* value = std::get_if<double>(&argument.value)) return *value;
  if (const auto* value = std::get_if<int64_t>(&argument.value)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<bool>(&argument.value)) return *value ? 1.0 : 0.0;
  return std::nullopt;
}

}  // namespace

int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

DType compute_type(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 ? DType::kFloat32 : dtype;
}

Indices output_variables(const Shape& shape) {
  Indices variables;
  for (size_t i = 0; i < shape.size(); ++i) {
    variables.push_back(Index::variable("d" + std::to_string(i), 0, shape[i] - 1));
  }
  return variables;
}

Indices apply_map(const Indices& map, const Indices& at, const Indices& gathered) {
  std::map<std::string, Index> replacements;
  for (size_t i = 0; i < at.size(); ++i) replacements.emplace("d" + std::to_string(i), at[i]);
  for (size_t i = 0; i < gathered.size(); ++i) replacements.emplace("g" + std::to_string(i), gathered[i]);
  Indices result;
  for (const Index& index : map) result.push_back(index.substitute(replacements));
  return result;
}

Result<Program> lower(const task::Graph& graph) { return Lowering(graph).run(); }

Result<Program> Lowering::run() {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    Node input;
    input.kind = Kind::kInput;
    const bool constant = graph_.inputs[i].kind == task::GraphInput::Kind::kConstant;
    input.dtype = graph_.inputs[i].value.dtype;
    if (constant) input.dtype = compute_type(input.dtype);  // its table is in the source
    input.shape = graph_.inputs[i].value.shape;
    input.input = static_cast<int>(i);
    values_[graph_.inputs[i].value.name] = cast(append(std::move(input)), graph_.inputs[i].value.dtype);
  }
  for (size_t i = 0; i < graph_.nodes.size() && !error_; ++i) {
    current_ = &graph_.nodes[i];
    origin_ = static_cast<int>(i);
    const auto found = handlers().find(split_overload(current_->op).first);
    if (found == handlers().end()) {
      refuse();
    } else {
      found->second(*this);
    }
    if (!error_ && !values_.count(result().name)) refuse();
  }
  for (const auto* list : {&graph_.outputs, &graph_.mutations}) {
    for (const task::GraphResult& output : *list) {
      if (error_) return *error_;
      if (output.constant) {
        program_.outputs.push_back({constant_output(*output.constant), output.name});
        continue;
      }
      program_.outputs.push_back({lookup(output.value), output.name});
    }
  }
  if (error_) return *error_;
  return std::move(program_);
}

int Lowering::constant_output(const Argument& value) {
  const bool truth = std::holds_alternative<bool>(value.value), real = std::holds_alternative<double>(value.value);
  const DType dtype = truth ? DType::kBool : real ? DType::kFloat64 : DType::kInt64;
  return constant(as_number(value).value_or(0), dtype);
}

std::string Lowering::overload() const { return split_overload(current_->op).second; }

void Lowering::refuse(const std::string& detail) {
  if (error_) return;
  const std::string name = split_overload(current_->op).first;
  error_ = Error{"unsupported operator " + name + (detail.empty() ? "" : " (" + detail + ")"), current_->name};
}

void Lowering::define(int id, size_t output) {
  if (error_) return;
  const task::GraphValue& value = result(output);
  if (shape(id) != value.shape) {
    refuse("result shape differs from the captured one");
    return;
  }
  values_[value.name] = cast(id, value.dtype);
}

int Lowering::lookup(const std::string& name) {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  if (current_) refuse("uses result " + name + " that is not computed");
  return 0;
}

const Argument* Lowering::argument(size_t position, std::string_view keyword) const {
  if (position < current_->args.size()) return &current_->args[position];
  for (const auto& [key, value] : current_->kwargs) {
    if (key == keyword) return &value;
  }
  return nullptr;
}

bool Lowering::has(size_t position, std::string_view keyword) const {
  const Argument* found = argument(position, keyword);
  return found && !found->none();
}

std::optional<int> Lowering::optional_tensor(size_t position, std::string_view keyword) {
  const Argument* found = argument(position, keyword);
  if (!found || found->none()) return std::nullopt;
  if (const auto* ref = std::get_if<task::ValueRef>(&found->value)) return lookup(ref->name);
  return std::nullopt;
}

int Lowering::tensor(size_t position, std::string_view keyword) {
  if (const std::optional<int> found = optional_tensor(position, keyword)) return *found;
  refuse("argument " + std::to_string(position) + " is not a tensor");
  return constant(0, DType::kFloat32);
}

std::vector<int> Lowering::tensors(size_t position, std::string_view keyword) {
  std::vector<int> found;
  const Argument* list = argument(position, keyword);
  const auto* items = list ? std::get_if<Argument::List>(&list->value) : nullptr;
  if (!items) {
    refuse("argument is not a list");
    return found;
  }
  for (const Argument& item : *items) {
    const auto* ref = std::get_if<task::ValueRef>(&item.value);
    found.push_back(ref ? lookup(ref->name) : -1);
  }
  return found;
}

double Lowering::number(size_t position, std::string_view keyword, double otherwise) {
  const Argument* found = argument(position, keyword);
  if (!found || found->none()) return otherwise;
  if (const std::optional<double> value = as_number(*found)) return *value;
  refuse("argument `" + std::string(keyword) + "` is not a constant number");
  return otherwise;
}

int64_t Lowering::integer(size_t position, std::string_view keyword, int64_t otherwise) {
  const Argument* found = argument(position, keyword);
  if (!found || found->none()) return otherwise;
  if (const auto* value = std::get_if<int64_t>(&found->value)) return *value;
  return static_cast<int64_t>(number(position, keyword, static_cast<double>(otherwise)));
}

std::vector<int64_t> Lowering::integers(size_t position, std::string_view keyword, std::vector<int64_t> otherwise) {
  const Argument* found = argument(position, keyword);
  if (!found || found->none()) return otherwise;
  std::vector<int64_t> values;
  const auto* items = std::get_if<Argument::List>(&found->value);
  if (!items) return {integer(position, keyword, 0)};
  for (const Argument& item : *items) {
    const auto* value = std::get_if<int64_t>(&item.value);
    if (!value) refuse("argument `" + std::string(keyword) + "` is not constant");
    values.push_back(value ? *value : 0);
  }
  return values;
}

std::string Lowering::text(size_t position, std::string_view keyword, const std::string& otherwise) {
  const Argument* found = argument(position, keyword);
  const auto* value = found ? std::get_if<std::string>(&found->value) : nullptr;
  return value ? *value : otherwise;
}

DType Lowering::dtype(size_t position, std::string_view keyword, DType otherwise) {
  const Argument* found = argument(position, keyword);
  const auto* value = found ? std::get_if<DType>(&found->value) : nullptr;
  return value ? *value : otherwise;
}

int Lowering::operand(size_t position, std::string_view keyword, DType dtype) {
  if (const std::optional<int> found = optional_tensor(position, keyword)) return cast(*found, dtype);
  return constant(number(position, keyword, 0), dtype);
}

size_t Lowering::wrap(int64_t dim, size_t rank) {
  const int64_t count = std::max<int64_t>(static_cast<int64_t>(rank), 1);
  return static_cast<size_t>(dim < 0 ? dim + count : dim);
}

}  // namespace ww::writer
