// SPDX-License-Identifier: Apache-2.0
//
// A whole source: preludes, one namespace per workload, and the functions of the native format that choose among them.
#include <algorithm>
#include <map>
#include <set>

#include "writer/emit.h"
#include "writer/prelude.h"

namespace ww::writer {
namespace {

/// What was emitted for one workload.
struct WorkloadSource {
  std::string space;  ///< namespace
  std::vector<KernelSource> kernels;
  bool uses_library = false;
  uint64_t scratch_bytes = 0;
};

WorkloadSource emit_workload(const WorkloadPlan& plan) {
  WorkloadSource source;
  for (int at = 0; at < static_cast<int>(plan.kernels.size()); ++at) {
    const auto& work = plan.kernels[static_cast<size_t>(at)].work;
    if (std::holds_alternative<RowsKernel>(work)) {
      source.kernels.push_back(emit_rows(plan, at));
    } else if (std::holds_alternative<BagKernel>(work)) {
      source.kernels.push_back(emit_bag(plan, at));
    } else {
      source.kernels.push_back(emit_contraction(plan, at));
      source.uses_library = true;
    }
    source.scratch_bytes = std::max(source.scratch_bytes, source.kernels.back().scratch_bytes);
  }
  return source;
}

std::string dlpack_type(DType dtype) {
  const std::string bits = std::to_string(8 * task::bytes_per_element(dtype));
  std::string code = "kDLInt";
  if (task::is_floating(dtype)) code = dtype == DType::kBfloat16 ? "kDLBfloat" : "kDLFloat";
  if (dtype == DType::kUInt8) code = "kDLUInt";
  if (dtype == DType::kBool) code = "kDLBool";
  return "{" + code + ", " + bits + ", 1}";
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string shape_list(const Shape& shape) {
  std::string text = "{";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "}";
}

std::set<int> used_buffers(const WorkloadPlan& plan, bool prepared) {
  std::set<int> used;
  for (size_t at = 0; at < plan.kernels.size(); ++at) {
    const Kernel& kernel = plan.kernels[at];
    const bool packs = std::holds_alternative<ContractionKernel>(kernel.work);
    if (prepared ? !(kernel.prepared || packs) : kernel.prepared) continue;
    if (prepared && packs) {
      used.insert(std::get<ContractionKernel>(kernel.work).operands[1].buffer);
      continue;
    }
    used.insert(kernel.reads.begin(), kernel.reads.end());
    for (int id = 0; id < static_cast<int>(plan.buffers.size()); ++id) {
      if (plan.buffer(id).producer == static_cast<int>(at)) used.insert(id);
    }
  }
  return used;
}

std::string constant_table(const WorkloadPlan& plan, const Buffer& buffer) {
  std::string text = "static const " + storage_type(buffer.dtype) + " " + buffer.name + "[] = {";
  for (const double value : plan.graph.inputs[static_cast<size_t>(plan.node(buffer.node).input)].values) {
    text += literal(value, buffer.dtype) + ", ";
  }
  return text + "};\n";
}

// Pointers to the buffers that statements below use, by their names.
std::string buffer_pointers(const WorkloadPlan& plan, bool prepared) {
  std::string text;
  for (const int id : used_buffers(plan, prepared)) {
    const Buffer& buffer = plan.buffer(id);
    const std::string type = storage_type(buffer.dtype);
    switch (buffer.place) {
      case Place::kInput:
        text += "const " + type + "* const " + buffer.name + " = data<" + type + ">(call->inputs, " +
                quoted(buffer.source) + ");\n";
        break;
      case Place::kWeight:
        text += "const " + type + "* const " + buffer.name + " = data<" + type + ">(call->weights, " +
                quoted(buffer.source) + ");\n";
        break;
      case Place::kConstant:
        text += constant_table(plan, buffer);
        break;
      case Place::kOutput:
        text +=
            type + "* const " + buffer.name + " = data<" + type + ">(call->outputs, " + quoted(buffer.source) + ");\n";
        break;
      default: {
        if (prepared && buffer.place == Place::kWorkspace) break;
        const std::string base = buffer.place == Place::kPacked ? "call->packed" : "call->workspace";
        text += type + "* const " + buffer.name + " = (" + type + "*)((char*)" + base + " + " +
                std::to_string(buffer.offset) + ");\n";
      }
    }
  }
  return text;
}

std::string accepts_text(const WorkloadPlan& plan) {
  std::string tests;
  for (const task::GraphInput& input : plan.graph.inputs) {
    if (input.kind == task::GraphInput::Kind::kConstant) continue;
    const std::string list = input.kind == task::GraphInput::Kind::kWeight ? "call->weights" : "call->inputs";
    tests += "  if (!matches(" + list + ", " + quoted(input.source) + ", " + dlpack_type(input.value.dtype) + ", " +
             shape_list(input.value.shape) + ")) return false;\n";
  }
  return "static bool accepts(const ww_call* call) {\n" + tests + "  return true;\n}\n\n";
}

std::string state_text(const WorkloadSource& source) {
  std::string members, packed, workspace;
  for (const KernelSource& kernel : source.kernels) {
    if (kernel.state.empty()) continue;
    members += kernel.state;
    const std::string& name = kernel.state_name;
    packed += " + " + name + ".packed_bytes()";
    workspace = "math::max<uint64_t>(" + name + ".workspace_bytes(), " + (workspace.empty() ? "0" : workspace) + ")";
  }
  return "struct State {\n" + indent(members, 2) + "  uint64_t packed_bytes() const { return 0" + packed +
         "; }\n  uint64_t workspace_bytes() const { return " + workspace + "; }\n};\n\n" +
         "static const State& get_state() {\n  static const State* const made = new State();\n  return *made;\n}\n\n";
}

// Workspace: values, then what the library needs, then scratch rows of each thread.
std::string sizes_text(const WorkloadPlan& plan, const WorkloadSource& source) {
  const std::string library = source.uses_library ? " + get_state().workspace_bytes()" : "";
  const std::string packed = source.uses_library ? " + get_state().packed_bytes()" : "";
  return "constexpr uint64_t kScratchBytes = " + std::to_string(source.scratch_bytes) + ";  // per thread\n\n" +
         "static uint64_t scratch_offset() { return " + std::to_string(plan.workspace_bytes) + library + "; }\n" +
         "static uint64_t workspace_bytes(const ww_call* call) { return scratch_offset() + kScratchBytes * "
         "(uint64_t)call->threads; }\n" +
         "static uint64_t packed_bytes() { return " + std::to_string(plan.packed_bytes) + packed + "; }\n\n";
}

std::string prepare_text(const WorkloadPlan& plan, const WorkloadSource& source) {
  std::string work;
  bool rows = false;
  for (size_t at = 0; at < plan.kernels.size(); ++at) {
    if (plan.kernels[at].prepared) work += source.kernels[at].call;
    rows = rows || plan.kernels[at].prepared;
    work += source.kernels[at].prepare;
  }
  if (work.empty()) return "static void prepare(const ww_call*) {}\n\n";
  std::string head = buffer_pointers(plan, true);
  if (rows) {
    head +=
        "const Config config{false, 1};\n"
        "std::vector<char> scratch_rows(kScratchBytes * (uint64_t)call->threads + 64);\n"
        "char* const scratch = (char*)(((uintptr_t)scratch_rows.data() + 63) / 64 * 64);\n";
  }
  if (source.uses_library) {
    head += "const State& state = get_state();\nchar* packed = (char*)call->packed + " +
            std::to_string(plan.packed_bytes) + ";\n";
  }
  return "static void prepare(const ww_call* call) {\n" + indent(head + work, 2) + "}\n\n";
}

std::string forward_text(const WorkloadPlan& plan, const WorkloadSource& source) {
  std::string head = buffer_pointers(plan, false), work;
  if (source.scratch_bytes > 0 || std::any_of(plan.kernels.begin(), plan.kernels.end(), [](const Kernel& kernel) {
        return std::holds_alternative<RowsKernel>(kernel.work);
      })) {
    head += "char* const scratch = (char*)call->workspace + scratch_offset();\n";
  }
  if (source.uses_library) {
    head += "const State& state = get_state();\nchar* packed = (char*)call->packed + " +
            std::to_string(plan.packed_bytes) + ";\nchar* const library_workspace = (char*)call->workspace + " +
            std::to_string(plan.workspace_bytes) + ";\n";
  }
  for (size_t at = 0; at < plan.kernels.size(); ++at) {
    if (!plan.kernels[at].prepared) work += source.kernels[at].call;
  }
  return "static void forward(const ww_call* call, const Config& config) {\n" + indent(head + work, 2) +
         "  (void)config;\n}\n\n";
}

std::string workload_text(const WorkloadPlan& plan, const WorkloadSource& source) {
  std::string text = "namespace " + source.space + " {\n\n";
  std::string functions;
  for (const KernelSource& kernel : source.kernels) functions += kernel.functions;
  text += functions;
  if (source.uses_library) text += state_text(source);
  text += sizes_text(plan, source) + accepts_text(plan) + prepare_text(plan, source) + forward_text(plan, source);
  return text + "}  // namespace " + source.space + "\n\n";
}

// `statement` for the workload that accepts the call's shapes.
std::string dispatch(const std::vector<WorkloadSource>& sources, const std::string& statement) {
  std::string text;
  for (const WorkloadSource& source : sources) {
    std::string line = statement;
    for (size_t at; (at = line.find('@')) != std::string::npos;) line.replace(at, 1, source.space);
    text += "  if (" + source.space + "::accepts(call)) " + line + "\n";
  }
  return text;
}

std::string entry_points(const std::vector<WorkloadSource>& sources, bool streams, bool library) {
  std::string configs = "    {false, 1},\n    {false, 8},\n";
  if (streams) configs += "    {true, 1},\n    {true, 8},\n";
  const std::string open = library ? "try {\n  omp_set_num_threads(call->threads);\n" : "{\n";
  const std::string close = library ? "} catch (const dnnl::error&) {\n  return WW_UNSUPPORTED;\n}\n" : "}\n";
  const std::string size_close = library ? "} catch (const dnnl::error&) {\n  return 0;\n}\n" : "}\n";
  return "// Variants to tune over.\nstatic const Config kConfigs[] = {\n" + configs + "};\n\n" +
         "WW_EXPORT int32_t ww_config_count(void) { return (int32_t)(sizeof kConfigs / sizeof kConfigs[0]); }\n\n" +
         "WW_EXPORT uint64_t ww_workspace_bytes(const ww_call* call) " + open +
         dispatch(sources, "return @::workspace_bytes(call);") + "  return 0;\n" + size_close + "\n" +
         "WW_EXPORT uint64_t ww_packed_bytes(const ww_call* call) " + open +
         dispatch(sources, "return @::packed_bytes();") + "  return 0;\n" + size_close + "\n" +
         "WW_EXPORT int ww_prepare(const ww_call* call) " + open +
         dispatch(sources, "return @::prepare(call), WW_OK;") + "  return WW_UNSUPPORTED;\n" + close + "\n" +
         "WW_EXPORT int ww_forward(const ww_call* call) " + open +
         "  const Config& config = kConfigs[call->config];\n" +
         dispatch(sources, "return @::forward(call, config), WW_OK;") + "  return WW_UNSUPPORTED;\n" + close;
}

}  // namespace

Result<std::string> emit_source(const std::vector<WorkloadPlan>& plans, const std::string& title) {
  std::vector<WorkloadSource> sources;
  std::map<std::string, std::string> known;  // plan by the shapes it accepts
  bool library = false, streams = false;
  std::string workloads;
  for (const WorkloadPlan& plan : plans) {
    const WorkloadSource emitted = emit_workload(plan);
    const std::string text = workload_text(plan, emitted);
    const auto [found, fresh] = known.emplace(accepts_text(plan), text);
    if (!fresh && found->second == text) continue;
    if (!fresh) return Error{"two workloads have the same shapes and different graphs", "writer"};
    sources.push_back(emitted);
    sources.back().space = "workload" + std::to_string(sources.size() - 1);
    workloads += workload_text(plan, sources.back());
    library = library || sources.back().uses_library;
    for (const KernelSource& kernel : sources.back().kernels) streams = streams || kernel.streams;
  }
  std::string source = "// " + title +
                       "\n//\n// Written by warpwright's builtin writer from the captured graph; specialised to the "
                       "shapes named below.\n";
  source += "#pragma GCC optimize(\"no-math-errno\", \"no-trapping-math\")\n#include <immintrin.h>\n#include <omp.h>\n";
  if (library) source += "#include <dnnl.hpp>\n#include <unordered_map>\n";
  source += "#include <initializer_list>\n#include <limits>\n#include <vector>\n\n#include \"warpwright/solution.h\"\n";
  source += std::string(kMathPrelude) + std::string(kLoopPrelude) + (library ? std::string(kDnnlPrelude) : "") + "\n";
  return source + workloads + entry_points(sources, streams, library);
}

}  // namespace ww::writer
