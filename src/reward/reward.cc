// SPDX-License-Identifier: Apache-2.0
#include "reward/reward.h"

namespace ww::reward {
namespace {

using verdict::Ratio;
using verdict::Speedup;
using verdict::Verdict;

bool significantly_faster(const std::optional<Ratio>& ratio) { return ratio && ratio->low * (1 - kMargin) > 1; }

double milestone(const std::optional<verdict::Timing>& timing) {
  if (!timing || !significantly_faster(timing->speedup.eager)) return 1;
  return significantly_faster(timing->speedup.compile) ? 3 : 2;
}

std::optional<double> speedup(const std::optional<verdict::Timing>& timing) {
  if (!timing) return std::nullopt;
  const Speedup& speedup = timing->speedup;
  if (speedup.compile) return speedup.compile->low;
  if (speedup.eager) return speedup.eager->low;
  return std::nullopt;
}

}  // namespace

std::string_view name(Kind kind) { return kind == Kind::kMilestone ? "milestone" : "speedup"; }

std::optional<Kind> kind_from_name(std::string_view text) {
  for (const Kind kind : {Kind::kMilestone, Kind::kSpeedup}) {
    if (name(kind) == text) return kind;
  }
  return std::nullopt;
}

std::optional<double> reward(Kind kind, const Verdict& verdict) {
  if (verdict.outcome() == verdict::Outcome::kNoVerdict) return std::nullopt;
  if (!verdict.passed()) return kFailed;
  const auto& timing = verdict.conclusion.figures();
  return kind == Kind::kMilestone ? milestone(timing) : speedup(timing);
}

}  // namespace ww::reward
