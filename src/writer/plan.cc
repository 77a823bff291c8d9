// SPDX-License-Identifier: Apache-2.0
#include "writer/plan.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "writer/fuse.h"

namespace ww::writer {
namespace {

constexpr uint64_t kAlignment = 256;

std::string identifier(const std::string& text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "t" + name;
  return name;
}

/// Names that emitted sources use for themselves, or that the language keeps: loop variables, values, preludes.
bool reserved(const std::string& name) {
  static const std::set<std::string> words{
      "alignas",  "auto",           "bool",     "break",     "call",      "case",     "char",
      "class",    "config",         "const",    "constexpr", "continue",  "data",     "default",
      "delete",   "dnnl",           "do",       "double",    "else",      "end",      "enum",
      "explicit", "extern",         "false",    "find",      "float",     "for",      "friend",
      "goto",     "head",           "if",       "inline",    "int",       "kLanes",   "library_workspace",
      "long",     "matches",        "math",     "namespace", "new",       "nullptr",  "operator",
      "packed",   "parallel_rows",  "private",  "public",    "register",  "return",   "run",
      "scratch",  "short",          "signed",   "sizeof",    "source",    "state",    "static",
      "stop",     "stream",         "struct",   "switch",    "template",  "this",     "thread",
      "throw",    "true",           "try",      "typename",  "union",     "unsigned", "using",
      "virtual",  "void",           "volatile", "while",     "bag",       "at",       "ahead",
      "weight",   "members",        "factor",   "begin",     "first_row", "last_row", "first_bag",
      "last_bag", "scratch_offset", "prepare",  "forward",   "accepts"};
  static const std::set<std::string> counted{"i",   "v",   "k",   "d",   "l",    "sum", "prod",
                                             "max", "min", "any", "all", "part", "row", "workload"};
  if (words.count(name) || name.rfind("to_", 0) == 0 || name.rfind("row_", 0) == 0) return true;
  return counted.count(name.substr(0, name.find_last_not_of("0123456789hl_") + 1)) > 0;
}

/// Nodes and buffers a kernel touches, from its roots down to what it finds in memory.
class Reach {
 public:
  Reach(const WorkloadPlan& plan, int kernel) : plan_(plan), kernel_(kernel) {}

  void visit(int id) {
    if (plan_.given(id, kernel_)) {
      reads.insert(plan_.buffer_of[static_cast<size_t>(id)]);
      return;
    }
    if (!nodes.insert(id).second) return;
    for (const int operand : plan_.node(id).operands) visit(operand);
  }

  std::set<int> nodes, reads;

 private:
  const WorkloadPlan& plan_;
  int kernel_;
};

void find_reach(WorkloadPlan& plan, int at) {
  Kernel& kernel = plan.kernels[static_cast<size_t>(at)];
  Reach reach(plan, at);
  if (const auto* rows = std::get_if<RowsKernel>(&kernel.work)) {
    for (const Root& root : rows->roots) reach.visit(root.node);
  } else if (const auto* product = std::get_if<ContractionKernel>(&kernel.work)) {
    reach.nodes.insert(product->node);
    for (const Operand& operand : product->operands) reach.reads.insert(operand.buffer);
    for (const Epilogue& epilogue : product->epilogue) {
      if (epilogue.operand) reach.reads.insert(epilogue.operand->buffer);
    }
    // The epilogue's nodes lie between the product and the stored value.
    Reach tail(plan, at);
    tail.visit(plan.buffer(product->output).node);
    for (const int id : tail.nodes) {
      if (id >= product->node) reach.nodes.insert(id);
    }
  } else {
    const auto& bag = std::get<BagKernel>(kernel.work);
    reach.nodes.insert(bag.node);
    reach.reads.insert(bag.operands.begin(), bag.operands.end());
  }
  kernel.nodes.assign(reach.nodes.begin(), reach.nodes.end());
  kernel.reads.assign(reach.reads.begin(), reach.reads.end());
}

// What depends on weights alone is computed once per weight set.
void hoist_to_prepare(WorkloadPlan& plan) {
  for (size_t at = 0; at < plan.kernels.size(); ++at) {
    Kernel& kernel = plan.kernels[at];
    bool fixed = !kernel.reads.empty() && std::holds_alternative<RowsKernel>(kernel.work);
    for (const int read : kernel.reads) {
      const Place place = plan.buffer(read).place;
      fixed = fixed && (place == Place::kWeight || place == Place::kPacked || place == Place::kConstant);
    }
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.producer == static_cast<int>(at) && buffer.place == Place::kOutput) fixed = false;
    }
    kernel.prepared = fixed;
    for (Buffer& buffer : plan.buffers) {
      if (fixed && buffer.producer == static_cast<int>(at)) buffer.place = Place::kPacked;
    }
  }
}

void name_buffers(WorkloadPlan& plan) {
  std::set<std::string> taken;
  for (Buffer& buffer : plan.buffers) {
    const Node& node = plan.node(buffer.node);
    std::string name = buffer.source;
    if (node.input >= 0 && buffer.producer < 0) {
      buffer.source = plan.graph.inputs[static_cast<size_t>(node.input)].source;
      name = buffer.place == Place::kConstant ? plan.graph.inputs[static_cast<size_t>(node.input)].value.name
                                              : buffer.source;
    } else if (buffer.place != Place::kOutput) {
      name = node.origin < 0 ? "copy" : plan.graph.nodes[static_cast<size_t>(node.origin)].name + "_value";
    }
    name = identifier(name);
    if (reserved(name)) name += "_tensor";
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
    buffer.name = unique;
  }
}

uint64_t padded_bytes(const Buffer& buffer) {
  const uint64_t bytes = static_cast<uint64_t>(elements(buffer.shape)) * task::bytes_per_element(buffer.dtype);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int last_use(const WorkloadPlan& plan, int buffer) {
  int last = plan.buffer(buffer).producer;
  for (size_t at = 0; at < plan.kernels.size(); ++at) {
    const auto& reads = plan.kernels[at].reads;
    if (std::binary_search(reads.begin(), reads.end(), buffer)) last = static_cast<int>(at);
  }
  return last;
}

// First fit among the buffers that are alive at the same time.
void place_buffers(WorkloadPlan& plan) {
  std::vector<int> placed;
  for (int id = 0; id < static_cast<int>(plan.buffers.size()); ++id) {
    Buffer& buffer = plan.buffers[static_cast<size_t>(id)];
    if (buffer.place == Place::kPacked) {
      buffer.offset = plan.packed_bytes;
      plan.packed_bytes += padded_bytes(buffer);
    }
    if (buffer.place != Place::kWorkspace) continue;
    const int last = last_use(plan, id);
    bool moved = true;
    while (moved) {
      moved = false;
      for (const int other_id : placed) {
        const Buffer& other = plan.buffer(other_id);
        const bool together = other.producer <= last && buffer.producer <= last_use(plan, other_id);
        const bool overlap =
            other.offset < buffer.offset + padded_bytes(buffer) && buffer.offset < other.offset + padded_bytes(other);
        if (!together || !overlap) continue;
        buffer.offset = other.offset + padded_bytes(other);
        moved = true;
      }
    }
    placed.push_back(id);
    plan.workspace_bytes = std::max(plan.workspace_bytes, buffer.offset + padded_bytes(buffer));
  }
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string stores_text(const WorkloadPlan& plan, int kernel) {
  std::string text;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.producer != kernel) continue;
    text += (text.empty() ? " -> " : ", ") + buffer.name + " " + std::string(task::name(buffer.dtype)) +
            shape_text(buffer.shape);
  }
  return text;
}

std::string work_text(const WorkloadPlan& plan, const Kernel& kernel) {
  if (const auto* rows = std::get_if<RowsKernel>(&kernel.work)) {
    std::string text = rows->dims.empty() ? "elementwise" : "rows";
    text += " " + shape_text(rows->shape);
    for (const int64_t dim : rows->dims) text += " over " + std::to_string(dim);
    for (const Root& root : rows->roots) {
      if (root.buffer < 0) text += " " + plan.node(root.node).op;
    }
    return text;
  }
  if (const auto* product = std::get_if<ContractionKernel>(&kernel.work)) {
    std::string text = plan.node(product->node).kind == Kind::kConv ? "convolution" : "product";
    text += " " + shape_text(product->output_shape);
    if (product->operands.size() > 2) text += " + bias";
    for (const Epilogue& epilogue : product->epilogue) {
      switch (epilogue.kind) {
        case Epilogue::Kind::kFunction:
          text += " " + epilogue.op;
          break;
        case Epilogue::Kind::kLinear:
          text += " linear";
          break;
        case Epilogue::Kind::kAdd:
          text += " + " + plan.buffer(epilogue.operand->buffer).name;
          break;
        case Epilogue::Kind::kMul:
          text += " * " + plan.buffer(epilogue.operand->buffer).name;
          break;
      }
    }
    return text;
  }
  return "bag " + plan.node(std::get<BagKernel>(kernel.work).node).op;
}

}  // namespace

bool WorkloadPlan::given(int id, int kernel) const {
  const int buffer_id = buffer_of[static_cast<size_t>(id)];
  return buffer_id >= 0 && buffer(buffer_id).producer < kernel;
}

Result<WorkloadPlan> plan_workload(const task::Graph& graph, const PlanOptions& options) {
  Result<Program> program = lower(graph);
  if (!program) return program.error();
  WorkloadPlan plan;
  plan.graph = graph;
  plan.program = std::move(*program);
  Fuser(plan, options).run();
  for (int at = 0; at < static_cast<int>(plan.kernels.size()); ++at) find_reach(plan, at);
  hoist_to_prepare(plan);
  name_buffers(plan);
  place_buffers(plan);
  return plan;
}

std::string operator_names(const WorkloadPlan& plan, const Kernel& kernel) {
  std::string text;
  int last = -1;
  std::set<int> seen;
  for (const int id : kernel.nodes) {
    const int origin = plan.node(id).origin;
    if (origin < 0 || origin == last || !seen.insert(origin).second) continue;
    last = origin;
    const std::string& op = plan.graph.nodes[static_cast<size_t>(origin)].op;
    const size_t first = op.find('.');
    const std::string bare = first == std::string::npos ? op : op.substr(first + 1);
    text += (text.empty() ? "" : ", ") + bare.substr(0, bare.find('.'));
  }
  return text;
}

std::string to_text(const WorkloadPlan& plan) {
  std::string text;
  for (int at = 0; at < static_cast<int>(plan.kernels.size()); ++at) {
    const Kernel& kernel = plan.kernels[static_cast<size_t>(at)];
    text += std::to_string(at) + (kernel.prepared ? " prepare" : "") + ": " + work_text(plan, kernel) + ": " +
            operator_names(plan, kernel) + stores_text(plan, at) + "\n";
  }
  return text;
}

}  // namespace ww::writer
