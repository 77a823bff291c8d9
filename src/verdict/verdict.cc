// SPDX-License-Identifier: Apache-2.0
#include "verdict/verdict.h"

#include <algorithm>

#include "verdict/names.h"

namespace ww::verdict {

std::string_view name(Outcome outcome) { return name_in(kOutcomeNames, outcome); }

std::optional<Outcome> outcome_from_name(std::string_view text) { return find_in(kOutcomeNames, text); }

std::string_view name(EvidenceKind kind) { return name_in(kEvidenceNames, kind); }

std::optional<EvidenceKind> evidence_kind_from_name(std::string_view text) { return find_in(kEvidenceNames, text); }

bool WorkloadVerdict::operator==(const WorkloadVerdict& other) const {
  const auto same_spec = [](const task::TensorSpec& a, const task::TensorSpec& b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.none == b.none && a.scalar == b.scalar;
  };
  return name == other.name && std::ranges::equal(inputs, other.inputs, same_spec) &&
         std::ranges::equal(outputs, other.outputs, same_spec) && conclusion == other.conclusion &&
         config == other.config && bound_us == other.bound_us && trials == other.trials;
}

Trials total(const std::vector<WorkloadVerdict>& workloads) {
  Trials sum;
  for (const WorkloadVerdict& workload : workloads) {
    const Trials& trials = workload.trials;
    sum.checked += trials.checked;
    sum.timed += trials.timed;
    sum.honey += trials.honey;
    sum.worst_error = std::max(sum.worst_error, trials.worst_error);
    if (!sum.first_failure) sum.first_failure = trials.first_failure;
  }
  return sum;
}

}  // namespace ww::verdict
