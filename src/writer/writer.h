// SPDX-License-Identifier: Apache-2.0
//
// The builtin kernel writer: captured graphs in, solutions in the native format out. Pure code: it runs nothing, reads
// no file and knows no task; what it writes follows from the graphs' operators, shapes, broadcasts and reductions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "task/graph.h"
#include "writer/plan.h"

namespace ww::writer {

/// One solution to submit.
struct Candidate {
  std::string name;                          ///< "unfused", "fused rows" ..
  std::map<std::string, std::string> files;  ///< path in the solution's folder: text
  std::string notes;                         ///< the plan of each workload, for the report
  bool uses_dnnl = false;                    ///< must be linked with oneDNN
};

/// One plan per workload.
using Plan = std::vector<WorkloadPlan>;

/// `graphs`: one per workload of a task. Error "unsupported operator aten.xyz", with the node's name as `where`.
Result<Plan> plan(const std::vector<task::Graph>& graphs, const PlanOptions& options = {});

/// Candidates in the order in which they should be tried, each different from those before it; at least one.
/// `title` heads the source. Error as plan().
Result<std::vector<Candidate>> candidates(const std::vector<task::Graph>& graphs, const std::string& title);

}  // namespace ww::writer
