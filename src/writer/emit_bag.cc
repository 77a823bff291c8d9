// SPDX-License-Identifier: Apache-2.0
//
// Sums, means or maxima of table rows named by bags of indices.
#include "writer/emit.h"

namespace ww::writer {
namespace {

constexpr int kRowsAhead = 8;  // table rows fetched ahead: their addresses are known, the caches cannot guess them

std::string parameters(const WorkloadPlan& plan, const BagKernel& work) {
  std::string text;
  for (const int id : work.operands) {
    text += "const " + storage_type(plan.buffer(id).dtype) + "* __restrict " + plan.buffer(id).name + ", ";
  }
  const Buffer& output = plan.buffer(work.output);
  return text + storage_type(output.dtype) + "* __restrict " + output.name;
}

}  // namespace

KernelSource emit_bag(const WorkloadPlan& plan, int kernel) {
  const auto& work = std::get<BagKernel>(plan.kernels[static_cast<size_t>(kernel)].work);
  const Node& node = plan.node(work.node);
  const Buffer &table = plan.buffer(work.operands[0]), &indices = plan.buffer(work.operands[1]);
  const Buffer &offsets = plan.buffer(work.operands[2]), &output = plan.buffer(work.output);
  const std::string bags = std::to_string(node.shape[0]), width = std::to_string(node.shape[1]);
  const std::string count = std::to_string(elements(indices.shape));
  const bool weighted = work.operands.size() > 3, max = node.op == "max";
  const std::string name = kernel_name(plan, kernel);
  const std::string element = from_storage(table.dtype, "source[d]");
  std::string body = "const int64_t end = bag + 1 < " + bags + " ? " + offsets.name + "[bag + 1] : " + count + ";\n" +
                     "float sum[" + width + "];\n" + "#pragma omp simd\nfor (int64_t d = 0; d < " + width +
                     "; ++d) sum[d] = " + (max ? "-math::kInfinity" : "0") + ";\n" + "int64_t members = 0;\n";
  std::string loop = "const int64_t ahead = math::min<int64_t>(at + " + std::to_string(kRowsAhead) + ", " + count +
                     " - 1);\n" + "for (int64_t d = 0; d < " + width + "; d += 16) __builtin_prefetch(" + table.name +
                     " + " + indices.name + "[ahead] * " + width + " + d);\n" + "const " + storage_type(table.dtype) +
                     "* const source = " + table.name + " + " + indices.name + "[at] * " + width + ";\n";
  if (node.padding_index >= 0) {
    loop += "if (" + indices.name + "[at] == " + std::to_string(node.padding_index) + ") continue;\n";
  }
  if (weighted) {
    const Buffer& weights = plan.buffer(work.operands[3]);
    loop += "const float weight = " + from_storage(weights.dtype, weights.name + "[at]") + ";\n";
  }
  loop +=
      "#pragma omp simd\nfor (int64_t d = 0; d < " + width + "; ++d) sum[d] = " +
      (max ? "math::max(sum[d], " + element + ")" : "sum[d] + " + std::string(weighted ? "weight * " : "") + element) +
      ";\n++members;\n";
  body += "for (int64_t at = " + offsets.name + "[bag]; at < end; ++at) {\n" + indent(loop, 2) + "}\n";
  std::string factor = "1.0f";
  if (node.op == "mean") factor = "members > 0 ? 1.0f / (float)members : 0.0f";
  if (max) factor = "members > 0 ? 1.0f : 0.0f";
  const std::string scaled = max ? "factor == 0.0f ? 0.0f : sum[d]" : "factor * sum[d]";
  body += "const float factor = " + factor + ";\n#pragma omp simd\nfor (int64_t d = 0; d < " + width + "; ++d) " +
          output.name + "[bag * " + width + " + d] = " + to_storage(output.dtype, scaled) + ";\n";
  KernelSource source;
  source.functions =
      "// embedding_bag: " + node.op + " of rows of " + table.name + " " + value_text(table.shape, table.dtype) +
      "\nstatic void " + name + "(" + parameters(plan, work) + ", int64_t first_bag, int64_t last_bag) {\n" +
      indent("for (int64_t bag = first_bag; bag < last_bag; ++bag) {\n" + indent(body, 2) + "}\n", 2) + "}\n\n";
  std::string names;
  for (const int id : work.operands) names += plan.buffer(id).name + ", ";
  source.call = "parallel_rows(call, config, " + bags + ", [&](int64_t begin, int64_t end, int) {\n  " + name + "(" +
                names + output.name + ", begin, end);\n});\n";
  return source;
}

}  // namespace ww::writer
