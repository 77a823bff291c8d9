// SPDX-License-Identifier: Apache-2.0
//
// A rows kernel as text: passes over a row, loop nests, stores.
#include <algorithm>
#include <limits>

#include "writer/fuse.h"
#include "writer/rows_emitter.h"

namespace ww::writer {
namespace {

constexpr int64_t kSummedAtOnce = 1024;    // longest run that one accumulator adds up, for the sake of rounding
constexpr uint64_t kSmallestStream = 512;  // bytes of a row below which streaming stores do not pay
constexpr uint64_t kScratchAlignment = 64;

std::string initial_value(const Node& node) {
  if (node.op == "sum" || node.op == "any") return "0";
  if (node.op == "prod" || node.op == "all") return "1";
  const std::string type = value_type(node.dtype);
  const bool max = node.op == "max";
  if (task::is_floating(node.dtype)) {
    return literal(max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(),
                   node.dtype);
  }
  return "std::numeric_limits<" + type + ">::" + (max ? "lowest()" : "max()");
}

std::string accumulator_type(const Node& node) {
  return node.op == "any" || node.op == "all" ? "int32_t" : value_type(node.dtype);
}

std::string accumulate(const std::string& op, const std::string& into, const std::string& value) {
  if (op == "sum") return into + " += " + value + ";";
  if (op == "prod") return into + " *= " + value + ";";
  if (op == "any") return into + " |= " + value + ";";
  if (op == "all") return into + " &= " + value + ";";
  return into + " = math::" + op + "(" + value + ", " + into + ");";
}

std::string clause(const std::string& op) {
  if (op == "sum") return "+";
  if (op == "prod") return "*";
  if (op == "any") return "|";
  return op == "all" ? "&" : op;
}

bool is_float_sum(const Node& node) { return node.op == "sum" && task::is_floating(node.dtype); }

}  // namespace

bool RowsEmitter::partial_sums(const std::vector<Root>& roots) const {
  if (lanes_ || depth_count() == 0) return false;
  if (depth_count() == 1 && loops_.back().extent <= 2 * kSummedAtOnce) return false;
  return std::any_of(roots.begin(), roots.end(), [this](const Root& root) {
    return root.buffer < 0 && node(root.node).kind == Kind::kReduce && is_float_sum(node(root.node));
  });
}

void RowsEmitter::emit_body() {
  addresses_.clear();
  row_memo_.clear();
  opaque_.clear();
  first_pass_.clear();
  if (dry_) saved_.clear();
  scratch_.clear();
  staged_.clear();
  body_.clear();
  next_name_ = 0;
  for (const auto& [pass, roots] : passes_) emit_pass(pass);
}

void RowsEmitter::emit_pass(size_t pass) {
  pass_ = pass;
  const std::vector<Root>& roots = passes_.at(pass);
  level_text_.assign(depth_count() + 2, "");
  declare_accumulators(roots);
  body_ += level_text_[0];
  const int64_t extent = vector_loop() ? vector_loop()->extent : 1;
  int64_t low = 0;
  std::vector<int64_t> bounds(breaks_.begin(), breaks_.end());
  bounds.push_back(extent);
  for (const int64_t high : bounds) {
    emit_nest(roots, low, high);
    low = high;
  }
  level_text_.assign(depth_count() + 2, "");
  finish_pass(roots);
  body_ += level_text_[0];
}

void RowsEmitter::declare_accumulators(const std::vector<Root>& roots) {
  for (const Root& root : roots) {
    const Node& current = node(root.node);
    if (root.buffer >= 0 || (current.kind == Kind::kScan && !lanes_)) continue;
    const std::string name = current.op + std::to_string(root.node), type = accumulator_type(current);
    if (!lanes_) {
      level_text_[0] += type + " " + name + " = " + initial_value(current) + ";\n";
      continue;
    }
    level_text_[0] += "alignas(64) " + type + " " + name + "[kLanes];\n" + "for (int64_t l = 0; l < kLanes; ++l) " +
                      name + "[l] = " + initial_value(current) + ";\n";
  }
}

void RowsEmitter::emit_nest(const std::vector<Root>& roots, int64_t low, int64_t high) {
  nest_memo_.clear();
  level_text_.assign(depth_count() + 2, "");
  position_ = dims_;
  vector_index_ = Index();
  if (const Loop* loop = vector_loop()) {
    vector_index_ = Index::variable(loop->name, low, high - 1);
    for (Index& dim : position_) dim = dim.substitute({{loop->name, vector_index_}});
  }
  for (const Root& root : roots) emit_root(root);
  body_ += nest_text(roots, low, high);
}

void RowsEmitter::emit_root(const Root& root) {
  if (root.buffer >= 0) return emit_store(root);
  if (node(root.node).kind == Kind::kScan) return emit_scan(root);
  emit_reduction(root);
}

void RowsEmitter::emit_reduction(const Root& root) {
  const Node& current = node(root.node);
  const int operand = current.operands[0];
  const Value part = value(operand, position_of(node(operand), rows_, position_));
  std::string into = current.op + std::to_string(root.node);
  if (lanes_) into += "[l]";
  const bool partial = is_float_sum(current) && partial_sums(passes_.at(pass_));
  if (partial) into = "part" + std::to_string(root.node);
  level_text_[depth_count()] += accumulate(current.op, into, part.text) + "\n";
}

void RowsEmitter::emit_scan(const Root& root) {
  const Node& current = node(root.node);
  const int operand = current.operands[0];
  const Value part = value(operand, position_of(node(operand), rows_, position_));
  const std::string row = scratch_row("row" + std::to_string(root.node), current.dtype, false);
  std::string text = part.text;
  if (lanes_) {
    text = current.op + std::to_string(root.node) + "[l]";
    level_text_[depth_count()] += accumulate(current.op, text, part.text) + "\n";
  }
  level_text_[depth_count()] += row + "[" + local_position() + "] = " + text + ";\n";
}

void RowsEmitter::emit_store(const Root& root) {
  const Buffer& buffer = plan_.buffer(root.buffer);
  const Indices at = position_of(node(root.node), rows_, position_);
  const Value stored = value(root.node, at);
  const Index address = flatten(at, node(root.node).shape);
  addresses_.push_back(address);
  const std::string element = to_storage(buffer.dtype, stored.text);
  const Depth depth = deeper(stored.depth, depth_of(address));
  const Index anywhere = flatten(position_of(node(root.node), rows_, dims_), node(root.node).shape);
  if (place(depth_of(anywhere)) == 0 && vector_index_.low() > 0) return;  // one per row, done with the first segment
  const std::string target = buffer.place == Place::kOutput ? staged_target(root) : "";
  // A value that is the same along a loop it is stored over, or the other way round, goes where both are known.
  const std::string to = target.empty() ? buffer.name + "[" + address.text() : target + "[" + local_position();
  add_line(depth, to + "] = " + element + ";");
}

// Through a scratch row, where the row is contiguous in the output: the config says whether it is streamed out.
std::string RowsEmitter::staged_target(const Root& root) {
  const Buffer& buffer = plan_.buffer(root.buffer);
  const Index address = flatten(position_of(node(root.node), rows_, dims_), node(root.node).shape);
  if (lanes_ || address.compound()) return {};
  Index base = address;
  int64_t stride = 1;
  for (size_t i = loops_.size(); i-- > outer_count_;) {
    if (address.coefficient(loops_[i].name) != stride) return {};
    base = base + loop_index(loops_[i]) * -stride;
    stride *= loops_[i].extent;
  }
  const int64_t count = tile_ > 0 ? tile_ : stride;
  if (static_cast<uint64_t>(count) * task::bytes_per_element(buffer.dtype) < kSmallestStream) return {};
  const std::string target = "to_" + buffer.name;
  const std::string start = buffer.name + " + " + base.text() + (tile_ > 0 ? " + begin" : "");
  if (staged_.emplace(root.buffer, start).second) {
    const std::string row = scratch_row("row_" + buffer.name, buffer.dtype, true);
    body_ += storage_type(buffer.dtype) + "* const " + target + " = stream ? " + row + " : " + start + ";\n";
  }
  return target;
}

void RowsEmitter::finish_pass(const std::vector<Root>& roots) {
  const std::string count = tile_ > 0 ? "(end - begin)" : std::to_string([this] {
    int64_t total = 1;
    for (size_t i = outer_count_; i < loops_.size(); ++i) total *= loops_[i].extent;
    return total;
  }());
  for (const Root& root : roots) {
    if (root.buffer < 0 && node(root.node).kind == Kind::kScan && !lanes_) {
      level_text_[0] += "running_sum(row" + std::to_string(root.node) + ", " + count + ");\n";
    }
    const auto staged = staged_.find(root.buffer);
    if (root.buffer < 0 || staged == staged_.end()) continue;
    const Buffer& buffer = plan_.buffer(root.buffer);
    level_text_[0] += "if (stream) stream_row(" + staged->second + ", row_" + buffer.name + ", " + count + " * " +
                      std::to_string(task::bytes_per_element(buffer.dtype)) + ");\n";
  }
}

// The vector loop; long sums are cut into runs with an accumulator each.
std::string RowsEmitter::inner_loop_text(const std::vector<Root>& roots, int64_t low, int64_t high) {
  const Loop& loop = *vector_loop();
  const size_t n = depth_count();
  std::string from = std::to_string(low), to = std::to_string(high);
  if (tile_ > 0) {
    const bool first = low == 0, last = high == loop.extent;
    from = first ? "begin" : "math::max<int64_t>(begin, " + from + ")";
    to = last ? "end" : "math::min<int64_t>(end, " + to + ")";
  }
  const bool partial = partial_sums(roots);
  const bool runs = partial && high - low > 2 * kSummedAtOnce;
  std::string reductions, parts, sums;
  for (const Root& root : roots) {
    const Node& current = node(root.node);
    if (root.buffer >= 0 || current.kind == Kind::kScan || lanes_) continue;
    std::string name = current.op + std::to_string(root.node);
    if (partial && is_float_sum(current)) {
      const std::string part = "part" + std::to_string(root.node);
      parts += value_type(current.dtype) + " " + part + " = 0;\n";
      sums += name + " += " + part + ";\n";
      name = part;
    }
    reductions += " reduction(" + clause(current.op) + " : " + name + ")";
  }
  const std::string lane = lanes_ ? "const int64_t l = " + loop.name + " - begin;\n" : "";
  const std::string start = runs ? "run" : from, stop = runs ? "stop" : to;
  std::string text = parts + "#pragma omp simd" + reductions + "\nfor (int64_t " + loop.name + " = " + start + "; " +
                     loop.name + " < " + stop + "; ++" + loop.name + ") {\n" + indent(lane + level_text_[n], 2) +
                     "}\n" + sums;
  if (!runs) return text;
  const std::string run = std::to_string(kSummedAtOnce);
  return "for (int64_t run = " + from + "; run < " + to + "; run += " + run + ") {\n" +
         indent("const int64_t stop = math::min<int64_t>(run + " + run + ", " + to + ");\n" + text, 2) + "}\n";
}

std::string RowsEmitter::nest_text(const std::vector<Root>& roots, int64_t low, int64_t high) {
  const size_t n = depth_count();
  std::string text = level_text_[0];
  if (lanes_ && !level_text_.back().empty()) {
    const std::string& name = loops_.back().name;
    text += "#pragma omp simd\nfor (int64_t " + name + " = begin; " + name + " < end; ++" + name + ") {\n" +
            indent("const int64_t l = " + name + " - begin;\n" + level_text_.back(), 2) + "}\n";
  }
  const bool empty = std::all_of(level_text_.begin() + 1, level_text_.begin() + static_cast<ptrdiff_t>(n) + 1,
                                 [](const std::string& level) { return level.empty(); });
  if (n == 0 || empty) return text;
  std::string nest = level_text_[n].empty() ? "" : inner_loop_text(roots, low, high);
  for (size_t level = n - 1; level > 0; --level) {
    const Loop& loop = loops_[outer_count_ + level - 1];
    nest = "for (int64_t " + loop.name + " = 0; " + loop.name + " < " + std::to_string(loop.extent) + "; ++" +
           loop.name + ") {\n" + indent(level_text_[level] + nest, 2) + "}\n";
  }
  return text + nest;
}

// The outer loops' variables out of `row`, the last one fastest; then the tile of the vector loop.
std::string RowsEmitter::row_header() const {
  std::string text;
  int64_t below = 1;
  if (tile_ > 0) {
    const Loop& loop = loops_.back();
    const int64_t tiles = (loop.extent + tile_ - 1) / tile_;
    below = tiles;
    const std::string tile = std::to_string(tile_),
                      which = outer_count_ == 0 ? "row" : "row % " + std::to_string(tiles);
    text += "const int64_t begin = " + which + " * " + tile + ";\n" +
            "const int64_t end = math::min<int64_t>(begin + " + tile + ", " + std::to_string(loop.extent) + ");\n";
  }
  for (size_t i = outer_count_; i-- > 0;) {
    std::string index = below == 1 ? "row" : "row / " + std::to_string(below);
    if (i > 0) index = (below == 1 ? index : "(" + index + ")") + " % " + std::to_string(loops_[i].extent);
    text += "const int64_t " + loops_[i].name + " = " + index + ";\n";
    below *= loops_[i].extent;
  }
  return text;
}

std::string RowsEmitter::parameters() const {
  std::string text;
  for (const int read : plan_.kernels[static_cast<size_t>(kernel_)].reads) {
    const Buffer& buffer = plan_.buffer(read);
    text += "const " + storage_type(buffer.dtype) + "* __restrict " + buffer.name + ", ";
  }
  for (const Root& root : rows_.roots) {
    if (root.buffer < 0) continue;
    const Buffer& buffer = plan_.buffer(root.buffer);
    text += storage_type(buffer.dtype) + "* __restrict " + buffer.name + ", ";
  }
  return text;
}

std::string RowsEmitter::comment() const {
  std::string text = "// " + operator_names(plan_, plan_.kernels[static_cast<size_t>(kernel_)]) + "\n";
  for (const int read : plan_.kernels[static_cast<size_t>(kernel_)].reads) {
    const Buffer& buffer = plan_.buffer(read);
    text += "//   reads  " + buffer.name + " " + value_text(buffer.shape, buffer.dtype) + "\n";
  }
  for (const Root& root : rows_.roots) {
    if (root.buffer < 0) continue;
    const Buffer& buffer = plan_.buffer(root.buffer);
    text += "//   writes " + buffer.name + " " + value_text(buffer.shape, buffer.dtype) + "\n";
  }
  return text;
}

std::string RowsEmitter::call_text() const {
  int64_t rows = tile_ > 0 ? (loops_.back().extent + tile_ - 1) / tile_ : 1;
  for (size_t i = 0; i < outer_count_; ++i) rows *= loops_[i].extent;
  std::string names;
  for (const int read : plan_.kernels[static_cast<size_t>(kernel_)].reads) names += plan_.buffer(read).name + ", ";
  for (const Root& root : rows_.roots) {
    if (root.buffer >= 0) names += plan_.buffer(root.buffer).name + ", ";
  }
  return "parallel_rows(call, config, " + std::to_string(rows) + ", [&](int64_t begin, int64_t end, int thread) {\n  " +
         name_ + "(" + names + "scratch + thread * kScratchBytes, begin, end, config.stream);\n});\n";
}

KernelSource RowsEmitter::emit() {
  dry_ = false;
  emit_body();
  KernelSource source;
  std::string rows;
  uint64_t offset = 0;
  for (const ScratchRow& row : scratch_) {
    const std::string type = row.raw ? storage_type(row.type) : value_type(row.type);
    rows += type + "* const " + row.name + " = (" + type + "*)(scratch + " + std::to_string(offset) + ");\n";
    const uint64_t bytes = static_cast<uint64_t>(row.count) * task::bytes_per_element(compute_type(row.type));
    offset += (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  }
  if (lanes_) rows = "constexpr int64_t kLanes = " + std::to_string(lanes()) + ";\n" + rows;
  source.functions = comment() + "static void " + name_ + "(" + parameters() +
                     "char* __restrict scratch, int64_t first_row, int64_t last_row, bool stream) {\n" +
                     indent(rows + "for (int64_t row = first_row; row < last_row; ++row) {\n" +
                                indent(row_header() + body_, 2) + "}\n",
                            2) +
                     "}\n\n";
  source.call = call_text();
  source.scratch_bytes = offset;
  source.streams = !staged_.empty();
  return source;
}

KernelSource emit_rows(const WorkloadPlan& plan, int kernel) { return RowsEmitter(plan, kernel).emit(); }

}  // namespace ww::writer
