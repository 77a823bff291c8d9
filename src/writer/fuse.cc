// SPDX-License-Identifier: Apache-2.0
#include "writer/fuse.h"

#include <algorithm>

#include "base/fault.h"

namespace ww::writer {
namespace {

bool trailing(const Shape& shape, const std::vector<int64_t>& dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[dims.size() - 1 - i] != static_cast<int64_t>(shape.size() - 1 - i)) return false;
  }
  return true;
}

bool is_element(Kind kind) {
  return kind == Kind::kMap || kind == Kind::kView || kind == Kind::kCat || kind == Kind::kPad ||
         kind == Kind::kGather || kind == Kind::kConstant || kind == Kind::kIota;
}

Place given_place(task::GraphInput::Kind kind) {
  if (kind == task::GraphInput::Kind::kInput) return Place::kInput;
  return kind == task::GraphInput::Kind::kWeight ? Place::kWeight : Place::kConstant;
}

std::vector<int64_t> reduced_dims(const Node& node) {
  return node.kind == Kind::kScan ? std::vector<int64_t>{node.dim} : node.dims;
}

}  // namespace

bool expensive(const std::string& op) {
  static const std::set<std::string> cheap{
      "add", "sub", "mul", "neg", "abs",   "max",  "min",  "eq",   "ne",    "lt",   "le",    "gt",    "ge",
      "and", "or",  "xor", "not", "where", "cast", "relu", "sign", "floor", "ceil", "round", "trunc", "round_to"};
  return !cheap.count(op);
}

Indices loop_variables(const Shape& shape) {
  Indices variables;
  for (size_t i = 0; i < shape.size(); ++i) {
    variables.push_back(Index::variable("i" + std::to_string(i), 0, shape[i] - 1));
  }
  return variables;
}

Index row_position(const RowsKernel& rows, const Indices& variables) {
  Index position;
  for (size_t i = 0; i < rows.shape.size(); ++i) {
    const bool reduced = std::count(rows.dims.begin(), rows.dims.end(), static_cast<int64_t>(i)) > 0;
    if (!reduced) position = position * rows.shape[i] + variables[i];
  }
  return position;
}

int64_t row_count(const RowsKernel& rows) {
  int64_t count = elements(rows.shape);
  for (const int64_t dim : rows.dims) count /= rows.shape[static_cast<size_t>(dim)];
  return count;
}

Indices position_of(const Node& node, const RowsKernel& rows, const Indices& variables) {
  const bool whole = elements(node.shape) == elements(rows.shape);
  return unflatten(whole ? flatten(variables, rows.shape) : row_position(rows, variables), node.shape);
}

bool is_reshape(const Node& view, const Node& operand) {
  return view.kind == Kind::kView && elements(view.shape) == elements(operand.shape) &&
         flatten(view.map, operand.shape) == flatten(output_variables(view.shape), view.shape);
}

Fuser::Fuser(WorkloadPlan& plan, const PlanOptions& options) : plan_(plan), options_(options) {
  const size_t count = plan.program.nodes.size();
  home_.assign(count, -1);
  plan.buffer_of.assign(count, -1);
  absorbed_.assign(count, false);
  count_users();
}

void Fuser::count_users() {
  const size_t count = plan_.program.nodes.size();
  live_.assign(count, false);
  users_.assign(count, {});
  for (const ProgramOutput& output : plan_.program.outputs) {
    live_[static_cast<size_t>(output.node)] = true;
    returned_.insert(output.node);
  }
  for (size_t id = count; id-- > 0;) {
    if (!live_[id]) continue;
    for (const int operand : plan_.program.nodes[id].operands) {
      live_[static_cast<size_t>(operand)] = true;
      users_[static_cast<size_t>(operand)].push_back(static_cast<int>(id));
    }
  }
}

void Fuser::run() {
  for (int id = 0; id < static_cast<int>(plan_.program.nodes.size()); ++id) {
    const Node& current = node(id);
    if (current.kind == Kind::kInput) {
      new_buffer(id, -1, given_place(plan_.graph.inputs[static_cast<size_t>(current.input)].kind));
      continue;
    }
    if (!live_[static_cast<size_t>(id)] || absorbed_[static_cast<size_t>(id)]) continue;
    if (!options_.fuse) separate_origins(id);
    if (is_element(current.kind) || current.windowed) {
      place_element(id);
    } else if (current.kind == Kind::kReduce || current.kind == Kind::kScan) {
      place_reduction(id);
    } else if (current.kind == Kind::kBag) {
      place_bag(id);
    } else {
      place_contraction(id);
    }
  }
  place_outputs();
}

// Without fusion every operator's result reaches memory; views and constants are no work of their own.
void Fuser::separate_origins(int id) {
  for (int operand : node(id).operands) {
    if (node(operand).origin == node(id).origin || buffer_of(operand) >= 0) continue;
    while (node(operand).kind == Kind::kView) operand = node(operand).operands[0];
    const Kind kind = node(operand).kind;
    if (kind != Kind::kConstant && kind != Kind::kIota) materialize(operand);
  }
}

// Where the operand would let its user be computed.
int Fuser::home_for(int id, int operand) {
  const bool apart = !options_.fuse && node(operand).origin != node(id).origin;
  return apart ? -1 : home(operand);
}

// Computing the value again at every place that reads it would cost much.
bool Fuser::heavy(int id) const {
  if (buffer_of(id) >= 0) return false;
  const Node& current = node(id);
  if (current.windowed || current.kind == Kind::kGather || (current.kind == Kind::kMap && expensive(current.op))) {
    return true;
  }
  return std::any_of(current.operands.begin(), current.operands.end(), [this](int operand) { return heavy(operand); });
}

void Fuser::place_element(int id) {
  const Node& current = node(id);
  if (current.windowed) {
    int source = current.operands[0];
    while (node(source).kind == Kind::kView || node(source).kind == Kind::kPad) source = node(source).operands[0];
    if (heavy(source)) materialize(source);
  }
  std::set<int> homes;
  for (const int operand : current.operands) {
    if (home_for(id, operand) >= 0) homes.insert(home_for(id, operand));
  }
  if (homes.empty()) return;
  const int last = *homes.rbegin();
  for (const int operand : current.operands) {
    if (home_for(id, operand) >= 0 && home_for(id, operand) != last) materialize(operand);
  }
  if (joinable(id, last)) {
    home(id) = last;
    return;
  }
  for (const int operand : current.operands) {
    if (home_for(id, operand) >= 0) materialize(operand);
  }
}

bool Fuser::same_space(int id, const RowsKernel& rows) const {
  const Shape& shape = node(node(id).operands[0]).shape;
  const std::vector<int64_t> dims = reduced_dims(node(id));
  if (shape == rows.shape && dims == rows.dims) return true;
  const bool flat = trailing(shape, dims) && trailing(rows.shape, rows.dims) && node(id).kind == Kind::kReduce;
  return flat && elements(shape) == elements(rows.shape) && elements(node(id).shape) == row_count(rows);
}

void Fuser::place_reduction(int id) {
  const int operand = node(id).operands[0];
  const auto join = [&](int kernel) {
    rows(kernel)->roots.push_back({id, -1});
    home(id) = kernel;
  };
  const int at = home_for(id, operand);
  if (at >= 0) {
    if (same_space(id, *rows(at)) && joinable(operand, at)) return join(at);
    materialize(operand);
  }
  const int count = static_cast<int>(plan_.kernels.size());
  for (int kernel = count - 1; kernel >= 0 && options_.fuse; --kernel) {
    if (rows(kernel) && same_space(id, *rows(kernel)) && shares_input(operand, kernel) && joinable(operand, kernel)) {
      return join(kernel);
    }
  }
  RowsKernel fresh{node(operand).shape, reduced_dims(node(id)), {}};
  join(new_kernel({std::move(fresh), {}, {}}));
}

// Reading the same memory is what makes it worthwhile to compute unrelated things together.
bool Fuser::shares_input(int id, int kernel) const {
  std::set<int> mine, theirs;
  const auto collect = [this](auto&& self, int at, std::set<int>& found) -> void {
    if (buffer_of(at) >= 0) {
      found.insert(buffer_of(at));
      return;
    }
    for (const int operand : node(at).operands) self(self, operand, found);
  };
  collect(collect, id, mine);
  const auto* rows = std::get_if<RowsKernel>(&plan_.kernels[static_cast<size_t>(kernel)].work);
  for (const Root& root : rows->roots) {
    for (const int operand : node(root.node).operands) collect(collect, operand, theirs);
  }
  return std::any_of(mine.begin(), mine.end(), [&](int buffer) { return theirs.count(buffer) > 0; });
}

bool Fuser::joinable(int id, int kernel) {
  const RowsKernel* target = rows(kernel);
  const int64_t size = elements(node(id).shape);
  if (size != elements(target->shape) && size != row_count(*target)) return false;
  std::set<std::string> seen;
  return reachable(id, position_of(node(id), *target, loop_variables(target->shape)), kernel, seen);
}

bool Fuser::reachable(int id, const Indices& at, int kernel, std::set<std::string>& seen) {
  if (plan_.given(id, kernel)) return true;
  const Node& current = node(id);
  const Index flat = flatten(at, current.shape);
  if (!seen.insert(std::to_string(id) + "@" + flat.text()).second) return true;
  const RowsKernel& target = *rows(kernel);
  const Indices variables = loop_variables(target.shape);
  // A position that is known only at run time.
  const auto unknown = [](size_t i, int64_t extent) {
    return Index::variable("unknown" + std::to_string(i), 0, extent - 1);
  };
  const auto every = [&](const Indices& where) {
    return std::all_of(current.operands.begin(), current.operands.end(),
                       [&](int operand) { return reachable(operand, where, kernel, seen); });
  };
  switch (current.kind) {
    case Kind::kConstant:
    case Kind::kIota:
      return true;
    case Kind::kMap:
      return every(at);
    case Kind::kView:
      return reachable(current.operands[0], apply_map(current.map, at), kernel, seen);
    case Kind::kCat:
    case Kind::kPad:
      return std::all_of(current.operands.begin(), current.operands.end(), [&](int operand) {
        Indices where = at;
        for (size_t i = 0; i < where.size(); ++i) {
          const int64_t extent = node(operand).shape[i];
          if (extent != current.shape[i]) where[i] = unknown(i, extent);
        }
        return reachable(operand, where, kernel, seen);
      });
    case Kind::kGather: {
      const Shape& source = node(current.operands[0]).shape;
      Indices gathered;
      for (size_t i = 0; i + 1 < current.operands.size(); ++i) {
        gathered.push_back(unknown(i, *std::max_element(source.begin(), source.end())));
      }
      return reachable(current.operands[0], apply_map(current.map, at, gathered), kernel, seen) &&
             std::all_of(current.operands.begin() + 1, current.operands.end(),
                         [&](int operand) { return reachable(operand, at, kernel, seen); });
    }
    case Kind::kReduce:
      if (current.windowed) return reachable_window(current, at, kernel, seen);
      return home(id) == kernel && flat == row_position(target, variables);
    case Kind::kScan:
      return home(id) == kernel && flat == flatten(variables, target.shape);
    default:
      return false;
  }
}

bool Fuser::reachable_window(const Node& window, const Indices& at, int kernel, std::set<std::string>& seen) {
  const Shape& shape = node(window.operands[0]).shape;
  Indices where;
  for (size_t i = 0, outer = 0; i < shape.size(); ++i) {
    const bool inside = std::count(window.dims.begin(), window.dims.end(), static_cast<int64_t>(i)) > 0;
    where.push_back(inside ? Index::variable("unknown" + std::to_string(i), 0, shape[i] - 1) : at[outer++]);
  }
  return reachable(window.operands[0], where, kernel, seen);
}

int Fuser::new_kernel(Kernel kernel) {
  plan_.kernels.push_back(std::move(kernel));
  return static_cast<int>(plan_.kernels.size()) - 1;
}

int Fuser::new_buffer(int id, int producer, Place place) {
  Buffer buffer;
  buffer.place = place;
  buffer.dtype = node(id).dtype;
  buffer.shape = node(id).shape;
  buffer.node = id;
  buffer.producer = producer;
  plan_.buffers.push_back(std::move(buffer));
  buffer_of(id) = static_cast<int>(plan_.buffers.size()) - 1;
  return buffer_of(id);
}

int Fuser::store_in(int kernel, int id) {
  const int buffer = new_buffer(id, kernel);
  rows(kernel)->roots.push_back({id, buffer});
  return buffer;
}

int Fuser::materialize(int id) {
  while (node(id).kind == Kind::kView && buffer_of(id) < 0) {
    const Kind below = node(node(id).operands[0]).kind;
    if (below == Kind::kConstant || below == Kind::kIota) break;
    id = node(id).operands[0];
  }
  return buffer_of(id) >= 0 ? buffer_of(id) : store(id);
}

int Fuser::store_alone(int id) { return store_in(new_kernel({RowsKernel{node(id).shape, {}, {}}, {}, {}}), id); }

int Fuser::store(int id) {
  if (home(id) >= 0) return store_in(home(id), id);
  const int count = static_cast<int>(plan_.kernels.size());
  for (int kernel = count - 1; kernel >= 0 && options_.fuse; --kernel) {
    const RowsKernel* target = rows(kernel);
    if (target && elements(target->shape) == elements(node(id).shape) && shares_input(id, kernel) &&
        joinable(id, kernel)) {
      return store_in(kernel, id);
    }
  }
  return store_alone(id);
}

int Fuser::strip_reshapes(int id) const {
  while (buffer_of(id) < 0 && node(id).kind == Kind::kView && is_reshape(node(id), node(node(id).operands[0]))) {
    id = node(id).operands[0];
  }
  return id;
}

void Fuser::place_outputs() {
  for (const ProgramOutput& output : plan_.program.outputs) {
    const int value = strip_reshapes(output.node);
    int buffer = buffer_of(value);
    if (buffer < 0) {
      buffer = home(value) < 0 && node(value).kind == Kind::kView ? store_alone(value) : store(value);
    } else if (plan_.buffer(buffer).place != Place::kWorkspace) {
      // Already an input or another output: copied.
      const int kernel = new_kernel({RowsKernel{node(value).shape, {}, {}}, {}, {}});
      const int given = buffer;
      buffer = new_buffer(value, kernel);
      rows(kernel)->roots.push_back({value, buffer});
      buffer_of(value) = given;
    }
    Buffer& chosen = plan_.buffers[static_cast<size_t>(buffer)];
    chosen.place = Place::kOutput;
    chosen.source = output.name;
  }
}

}  // namespace ww::writer
