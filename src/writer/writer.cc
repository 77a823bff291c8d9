// SPDX-License-Identifier: Apache-2.0
#include "writer/writer.h"

#include <algorithm>

#include "writer/emit.h"

namespace ww::writer {
namespace {

struct Variant {
  const char* name;
  PlanOptions options;
};

Result<Candidate> write(const std::vector<task::Graph>& graphs, const Variant& variant, const std::string& title) {
  const Result<Plan> planned = plan(graphs, variant.options);
  if (!planned) return planned.error();
  const Result<std::string> source = emit_source(*planned, title + ", " + variant.name);
  if (!source) return source.error();
  Candidate candidate;
  candidate.name = variant.name;
  candidate.files["kernels/kernel.cpp"] = *source;
  for (size_t i = 0; i < planned->size(); ++i) {
    candidate.notes += "workload " + std::to_string(i) + "\n" + to_text((*planned)[i]);
    for (const Kernel& kernel : (*planned)[i].kernels) {
      candidate.uses_dnnl = candidate.uses_dnnl || std::holds_alternative<ContractionKernel>(kernel.work);
    }
  }
  return candidate;
}

}  // namespace

Result<Plan> plan(const std::vector<task::Graph>& graphs, const PlanOptions& options) {
  Plan plans;
  for (const task::Graph& graph : graphs) {
    Result<WorkloadPlan> planned = plan_workload(graph, options);
    if (!planned) return planned.error();
    plans.push_back(std::move(*planned));
  }
  return plans;
}

Result<std::vector<Candidate>> candidates(const std::vector<task::Graph>& graphs, const std::string& title) {
  const Variant variants[] = {{"unfused", {.fuse = false}}, {"fused rows", {.fuse = true}}};
  std::vector<Candidate> list;
  for (const Variant& variant : variants) {
    Result<Candidate> candidate = write(graphs, variant, title);
    if (!candidate) return candidate.error();
    const bool known =
        std::any_of(list.begin(), list.end(), [&](const Candidate& other) { return other.notes == candidate->notes; });
    if (!known) list.push_back(std::move(*candidate));
  }
  return list;
}

}  // namespace ww::writer
