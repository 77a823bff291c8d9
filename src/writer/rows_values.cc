// SPDX-License-Identifier: Apache-2.0
//
// Values of nodes at loop positions: each becomes one named statement at the outermost loop at which it can stand.
#include <algorithm>
#include <limits>

#include "base/fault.h"
#include "writer/fuse.h"
#include "writer/rows_emitter.h"

namespace ww::writer {

// Places: 0 is the row, then the inner loops; the prologue over lanes comes last.
size_t RowsEmitter::place(Depth depth) const {
  if (!depth.lane) return depth.level;
  return depth.level == 0 ? depth_count() + 1 : depth_count();
}

RowsEmitter::Depth RowsEmitter::depth_of(const Index& index) const {
  Depth depth;
  for (const std::string& name : index.variables()) {
    if (const auto found = opaque_.find(name); found != opaque_.end()) {
      depth = deeper(depth, found->second);
      continue;
    }
    for (size_t i = outer_count_; i < loops_.size(); ++i) {
      if (loops_[i].name != name) continue;
      const bool lane = lanes_ && i + 1 == loops_.size();
      depth = deeper(depth, lane ? Depth{0, true} : Depth{i - outer_count_ + 1, false});
    }
  }
  return depth;
}

void RowsEmitter::add_line(Depth depth, const std::string& line) { level_text_[place(depth)] += line + "\n"; }

RowsEmitter::Value RowsEmitter::define(DType type, const std::string& expression, Depth depth) {
  const std::string name = "v" + std::to_string(next_name_++);
  const std::string spelled = value_type(type);
  if (place(depth) == depth_count() + 1) {
    level_text_[0] += "alignas(64) " + spelled + " " + name + "[kLanes];\n";
    level_text_.back() += name + "[l] = " + expression + ";\n";
    return {name + "[l]", depth, type};
  }
  add_line(depth, "const " + spelled + " " + name + " = " + expression + ";");
  return {name, depth, type};
}

// Whether this is the node's value at the very position that the loops stand at.
bool RowsEmitter::at_place(int id, const Indices& at) const {
  return elements(node(id).shape) == elements(rows_.shape) &&
         flatten(at, node(id).shape) == flatten(position_, rows_.shape);
}

RowsEmitter::Value RowsEmitter::value(int id, const Indices& at) {
  const std::string key = std::to_string(id) + "@" + flatten(at, node(id).shape).text();
  for (const auto* memo : {&row_memo_, &nest_memo_}) {
    if (const auto found = memo->find(key); found != memo->end()) return found->second;
  }
  const Value result = compute(id, at);
  const size_t where = place(result.depth);
  const bool lasting = where == 0 || (where == depth_count() + 1 && breaks_.empty());
  (lasting ? row_memo_ : nest_memo_)[key] = result;
  return result;
}

RowsEmitter::Value RowsEmitter::compute(int id, const Indices& at) {
  const Node& current = node(id);
  if (plan_.given(id, kernel_)) return load(id, at);
  switch (current.kind) {
    case Kind::kConstant:
      return {literal(current.number, current.dtype), {}, current.dtype};
    case Kind::kIota: {
      const Index& position = at[static_cast<size_t>(current.dim)];
      addresses_.push_back(position);
      return define(current.dtype, "(" + value_type(current.dtype) + ")(" + position.text() + ")", depth_of(position));
    }
    case Kind::kMap:
      return map_value(id, at);
    case Kind::kView:
      return value(current.operands[0], apply_map(current.map, at));
    case Kind::kCat:
      return cat_value(id, at);
    case Kind::kPad:
      return pad_value(id, at);
    case Kind::kGather:
      return gather_value(id, at);
    case Kind::kScan:
      return saved_value(id);
    case Kind::kReduce:
      return current.windowed ? window_value(id, at) : reduction_value(id);
    default:
      break;
  }
  WW_CHECK(false, "a product inside a rows kernel");
  return {};
}

RowsEmitter::Value RowsEmitter::load(int id, const Indices& at) {
  const Buffer& buffer = plan_.buffer(plan_.buffer_of[static_cast<size_t>(id)]);
  const Index address = flatten(at, node(id).shape);
  addresses_.push_back(address);
  return define(buffer.dtype, from_storage(buffer.dtype, buffer.name + "[" + address.text() + "]"), depth_of(address));
}

RowsEmitter::Value RowsEmitter::reduction_value(int id) const {
  const Node& current = node(id);
  const std::string name = current.op + std::to_string(id) + (lanes_ ? "[l]" : "");
  const bool logical = current.op == "any" || current.op == "all";
  return {logical ? "(" + name + " != 0)" : name, {0, lanes_}, current.dtype};
}

RowsEmitter::Value RowsEmitter::saved_value(int id) {
  const std::string row = scratch_row("row" + std::to_string(id), node(id).dtype, false);
  return define(node(id).dtype, row + "[" + local_position() + "]", {depth_count() - (lanes_ ? 1 : 0), lanes_});
}

RowsEmitter::Value RowsEmitter::map_value(int id, const Indices& at) {
  const Node& current = node(id);
  const bool keeps = expensive(current.op) && depth_count() > (lanes_ ? 1u : 0u) && at_place(id, at);
  if (keeps) {
    const auto [first, fresh] = first_pass_.emplace(id, pass_);
    if (dry_ && first->second < pass_) saved_.insert(id);
    if (saved_.count(id) && first->second < pass_) return saved_value(id);
  }
  std::vector<std::string> operands;
  Depth depth;
  DType operand_type = current.dtype;
  for (const int operand : current.operands) {
    const Value part = value(operand, at);
    operands.push_back(part.text);
    depth = deeper(depth, part.depth);
    operand_type = part.type;
  }
  if (current.op == "cast" && compute_type(current.dtype) == compute_type(operand_type)) {
    return {operands[0], depth, current.dtype};
  }
  const Value result = define(current.dtype, map_expression(current, operands, operand_type), depth);
  if (keeps && saved_.count(id)) {
    const std::string row = scratch_row("row" + std::to_string(id), current.dtype, false);
    level_text_[depth_count()] += row + "[" + local_position() + "] = " + result.text + ";\n";
  }
  return result;
}

RowsEmitter::Inside RowsEmitter::inside(const Index& index, int64_t low, int64_t high) {
  if (index.low() >= low && index.high() < high) return Inside::kYes;
  if (index.high() < low || index.low() >= high) return Inside::kNo;
  addresses_.push_back(index);
  const Loop* loop = vector_loop();
  const std::set<std::string> names = index.variables();
  if (!loop || index.compound() || names.size() != 1 || !names.count(loop->name)) return Inside::kUnknown;
  const int64_t step = index.coefficient(loop->name);
  if (step <= 0) return Inside::kUnknown;
  const int64_t base = index.substitute({{loop->name, 0}}).low();
  const auto first_reaching = [&](int64_t bound) { return (bound - base + step - 1) / step; };
  for (const int64_t bound : {low, high}) {
    const int64_t at = first_reaching(bound);
    if (at > 0 && at < loop->extent && breaks_.insert(at).second) more_breaks_ = true;
  }
  return Inside::kUnknown;
}

// The position held inside [0, extent), so that loads are safe whatever the condition says; the value is the condition.
RowsEmitter::Value RowsEmitter::clamped(const Index& index, int64_t extent, Index& position) {
  const std::string key = "clamp " + index.text() + " to " + std::to_string(extent);
  for (const auto* memo : {&row_memo_, &nest_memo_}) {
    const auto condition = memo->find(key);
    if (condition == memo->end()) continue;
    position = Index::variable(memo->at(key + " at").text, 0, extent - 1);
    return condition->second;
  }
  const Depth depth = depth_of(index);
  const Value held =
      define(DType::kInt64, "math::clamp(" + index.text() + ", 0, " + std::to_string(extent - 1) + ")", depth);
  opaque_[held.text] = depth;
  position = Index::variable(held.text, 0, extent - 1);
  const Value condition = define(DType::kBool, held.text + " == " + index.text(), depth);
  auto& memo = place(depth) == 0 ? row_memo_ : nest_memo_;
  memo[key] = condition;
  memo[key + " at"] = held;
  return condition;
}

RowsEmitter::Value RowsEmitter::choose(const Value& condition, const Value& yes, const Value& no, DType type) {
  const Depth depth = deeper(condition.depth, deeper(yes.depth, no.depth));
  return define(type, condition.text + " ? " + yes.text + " : " + no.text, depth);
}

RowsEmitter::Value RowsEmitter::pad_value(int id, const Indices& at) {
  const Node& current = node(id);
  const int source = current.operands[0];
  const Value outside{literal(current.number, current.dtype), {}, current.dtype};
  Indices where = at;
  std::vector<Value> conditions;
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t extent = node(source).shape[i];
    where[i] = at[i] + (-current.before[i]);
    const Inside known = inside(where[i], 0, extent);
    if (known == Inside::kNo) return outside;
    if (known == Inside::kYes) continue;
    Index position;
    conditions.push_back(clamped(where[i], extent, position));
    where[i] = position;
  }
  Value result = value(source, where);
  for (const Value& condition : conditions) result = choose(condition, result, outside, current.dtype);
  return result;
}

RowsEmitter::Value RowsEmitter::cat_value(int id, const Indices& at) {
  const Node& current = node(id);
  const auto dim = static_cast<size_t>(current.dim);
  std::optional<Value> result;
  int64_t start = 0;
  for (const int operand : current.operands) {
    const int64_t extent = node(operand).shape[dim];
    const Index local = at[dim] + (-start);
    start += extent;
    const Inside known = inside(local, 0, extent);
    if (known == Inside::kNo) continue;
    Indices where = at;
    where[dim] = local;
    if (known == Inside::kYes) return value(operand, where);
    const Value condition = clamped(local, extent, where[dim]);
    const Value part = value(operand, where);
    result = result ? choose(condition, part, *result, current.dtype) : part;
  }
  return *result;
}

RowsEmitter::Value RowsEmitter::gather_value(int id, const Indices& at) {
  const Node& current = node(id);
  Indices positions;
  for (size_t i = 1; i < current.operands.size(); ++i) {
    const Value index = value(current.operands[i], at);
    opaque_[index.text] = index.depth;
    int64_t extent = 1;
    for (size_t dim = 0; dim < current.map.size(); ++dim) {
      const bool used = current.map[dim].variables().count("g" + std::to_string(i - 1)) > 0;
      if (used) extent = node(current.operands[0]).shape[dim];
    }
    positions.push_back(Index::variable(index.text, 0, extent - 1));
  }
  return value(current.operands[0], apply_map(current.map, at, positions));
}

RowsEmitter::Value RowsEmitter::window_value(int id, const Indices& at) {
  const Node& current = node(id);
  const Shape& shape = node(current.operands[0]).shape;
  Shape window;
  for (const int64_t dim : current.dims) window.push_back(shape[static_cast<size_t>(dim)]);
  std::optional<Value> result;
  for (int64_t tap = 0; tap < elements(window); ++tap) {
    const Indices inner = unflatten(Index(tap), window);
    Indices where;
    for (size_t i = 0, outer = 0, reduced = 0; i < shape.size(); ++i) {
      const bool inside_window = std::count(current.dims.begin(), current.dims.end(), static_cast<int64_t>(i)) > 0;
      where.push_back(inside_window ? inner[reduced++] : at[outer++]);
    }
    const Value part = value(current.operands[0], where);
    const double nothing = current.op == "sum" ? 0 : -std::numeric_limits<double>::infinity();
    const bool last = tap + 1 == elements(window);
    if (part.text == literal(nothing, current.dtype) && (result || !last)) continue;
    if (!result) {
      result = part;
      continue;
    }
    const bool sum = current.op == "sum";
    const std::string joined =
        sum ? result->text + " + " + part.text : "math::" + current.op + "(" + result->text + ", " + part.text + ")";
    result = define(current.dtype, joined, deeper(result->depth, part.depth));
  }
  return *result;
}

std::string RowsEmitter::scratch_row(const std::string& name, DType type, bool raw) {
  const bool known =
      std::any_of(scratch_.begin(), scratch_.end(), [&](const ScratchRow& row) { return row.name == name; });
  if (known) return name;
  int64_t count = tile_ > 0 ? tile_ : 1;
  for (size_t i = outer_count_; i < loops_.size(); ++i) {
    if (tile_ == 0 || i + 1 < loops_.size()) count *= loops_[i].extent;
  }
  scratch_.push_back({name, type, count, raw});
  return name;
}

// Position inside a scratch row.
Index RowsEmitter::local_index() const {
  Index local;
  for (size_t i = outer_count_; i < loops_.size(); ++i) {
    const bool last = i + 1 == loops_.size();
    local = local * (last && lanes_ ? lanes() : loops_[i].extent) + (last ? vector_index_ : loop_index(loops_[i]));
  }
  return local;
}

std::string RowsEmitter::local_position() const { return local_index().text() + (tile_ > 0 ? " - begin" : ""); }

}  // namespace ww::writer
