// SPDX-License-Identifier: Apache-2.0
#include "report/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace ww::report {
namespace {

/// Above this share of a ceiling there is little left to gain: the ceilings are best cases of simpler loops.
constexpr double kNearCeiling = 0.75;
/// Reached only by reading less than all inputs, or by less arithmetic than torch counts.
constexpr double kBeyondCeiling = 1.1;
/// An interval of the solution's time wider than this share hides what a change brings.
constexpr double kWideInterval = 0.1;
/// A workload that reaches so many times less than the best one is the one to look at.
constexpr double kUneven = 2;
constexpr size_t kMostHints = 3;

Position place(const verdict::SideTime& time, const Ceilings& ceilings, const WorkloadWork& work) {
  const double move_us = work.bytes / (ceilings.copy_gb_per_s * 1e3);
  const double compute_us = work.flops / (ceilings.fma_gflop_per_s * 1e3);
  Position position{.workload = work.workload, .bound_us = std::max(move_us, compute_us)};
  position.gb_per_s = work.bytes / (time.time_us * 1e3);
  position.gflop_per_s = work.flops / (time.time_us * 1e3);
  position.compute_bound = compute_us > move_us;
  position.reached = position.bound_us / time.time_us;
  return position;
}

const verdict::WorkloadTiming* figures_of(const verdict::Verdict& verdict, const std::string& name) {
  for (const auto& workload : verdict.workloads) {
    if (workload.name == name && workload.conclusion.figures()) return &*workload.conclusion.figures();
  }
  return nullptr;
}

std::string hint_of(const Position& position) {
  const std::string where =
      fmt::format("{}: at {:.0f} % of what {} reaches here", position.workload, 100 * position.reached,
                  position.compute_bound ? "multiply-add" : "copying memory");
  if (position.reached > kBeyondCeiling) {
    return fmt::format("{}: faster than moving every input and output once; right if it reads only a part of them",
                       position.workload);
  }
  if (position.reached > kNearCeiling) {
    return where +
           (position.compute_bound ? "; only less arithmetic would help" : "; only moving fewer bytes would help");
  }
  if (position.compute_bound) {
    return where +
           "; look for loops that do not vectorise, missing blocking for the caches, one thread working, or let "
           "oneDNN do the product";
  }
  return where +
         "; look for passes over the data that could be one, intermediate results in memory, strided access, "
         "scalar loops (exp, division), one thread working";
}

/// Of the sides that are surely faster than the solution.
std::optional<std::string> slower_hint(const verdict::Verdict& verdict) {
  std::string names;
  for (const auto& workload : verdict.workloads) {
    const auto& figures = workload.conclusion.figures();
    if (!figures) continue;
    const auto& [eager, compile] = figures->speedup;
    if (eager && eager->high < 1) names += (names.empty() ? "" : ", ") + workload.name + " than eager";
    if (compile && compile->high < 1) names += (names.empty() ? "" : ", ") + workload.name + " than compile";
  }
  if (names.empty()) return std::nullopt;
  return "slower on " + names;
}

std::optional<std::string> wide_hint(const verdict::Verdict& verdict) {
  for (const auto& workload : verdict.workloads) {
    const auto& figures = workload.conclusion.figures();
    if (!figures) continue;
    const verdict::SideTime& time = figures->times.solution;
    const double half = std::max(time.high_us - time.time_us, time.time_us - time.low_us);
    if (half <= kWideInterval * time.time_us) continue;
    const char* cause = time.error_us > half / 2 ? "so short a call is near the clock's own error"
                                                 : "the machine is busy: a longer --time-cap narrows it";
    return fmt::format("{}: the time is known to ±{:.0f} % only; {}", workload.name, 100 * half / time.time_us, cause);
  }
  return std::nullopt;
}

std::optional<std::string> prepare_hint(const verdict::Verdict& verdict) {
  for (const auto& workload : verdict.workloads) {
    const auto& figures = workload.conclusion.figures();
    if (!figures || !figures->prepare_us || *figures->prepare_us <= figures->times.solution.time_us) continue;
    return fmt::format("{}: ww_prepare takes {:.0f} calls' worth of time, once for each set of weights", workload.name,
                       *figures->prepare_us / figures->times.solution.time_us);
  }
  return std::nullopt;
}

std::vector<std::string> hints_of(const verdict::Verdict& verdict, const std::vector<Position>& positions) {
  std::vector<std::string> hints;
  const auto add = [&](const std::optional<std::string>& hint) {
    if (hint && hints.size() < kMostHints) hints.push_back(*hint);
  };
  add(slower_hint(verdict));
  const auto by_reached = [](const Position& a, const Position& b) { return a.reached < b.reached; };
  if (!positions.empty()) {
    const auto [worst, best] = std::minmax_element(positions.begin(), positions.end(), by_reached);
    add(hint_of(*worst));
    if (best->reached > kUneven * worst->reached) {
      add(
          fmt::format("{} reaches {:.0f} %, {} {:.0f} %: what serves the one does not serve the other; ww_config_count "
                      "lets the judge choose by workload",
                      best->workload, 100 * best->reached, worst->workload, 100 * worst->reached));
    }
  }
  add(wide_hint(verdict));
  add(prepare_hint(verdict));
  return hints;
}

std::string position_text(const Position& position) {
  std::string text = fmt::format("{:.2f} GB/s", position.gb_per_s);
  if (position.gflop_per_s > 0) text += fmt::format(", {:.1f} GFLOP/s", position.gflop_per_s);
  return text + fmt::format(": {:.0f} % of the {} roofline ({:.1f} us)", 100 * position.reached,
                            position.compute_bound ? "compute" : "memory", position.bound_us);
}

}  // namespace

Profile profile_of(const verdict::Verdict& verdict, const Ceilings& ceilings, const std::vector<WorkloadWork>& work) {
  Profile profile{.ceilings = ceilings, .positions = {}, .hints = {}};
  if (ceilings.copy_gb_per_s > 0 && ceilings.fma_gflop_per_s > 0) {
    for (const WorkloadWork& each : work) {
      const verdict::WorkloadTiming* figures = figures_of(verdict, each.workload);
      if (!figures || figures->times.solution.time_us <= 0) continue;
      profile.positions.push_back(place(figures->times.solution, ceilings, each));
    }
  }
  profile.hints = hints_of(verdict, profile.positions);
  return profile;
}

std::string profile_text(const verdict::Verdict& verdict, const Profile& profile, size_t workloads, Style style) {
  if (!verdict.conclusion.figures()) return verdict_text(verdict, workloads, style);
  std::string text = headline(verdict, workloads) + summary(verdict, style);
  for (const auto& workload : verdict.workloads) {
    text += workload_block(workload, style);
    for (const Position& position : profile.positions) {
      if (position.workload == workload.name) text += "    " + position_text(position) + "\n";
    }
  }
  text += fmt::format("ceilings measured here, {} threads: copying {:.1f} GB/s, multiply-add {:.1f} GFLOP/s (fp32)\n",
                      verdict.device.threads, profile.ceilings.copy_gb_per_s, profile.ceilings.fma_gflop_per_s);
  for (const std::string& hint : profile.hints) text += "hint  " + hint + "\n";
  return text;
}

Json to_json(const Profile& profile) {
  Json workloads = Json::array();
  for (const Position& position : profile.positions) {
    workloads.push_back({{"name", position.workload},
                         {"gb_per_s", position.gb_per_s},
                         {"gflop_per_s", position.gflop_per_s},
                         {"bound", position.compute_bound ? "compute" : "memory"},
                         {"bound_us", position.bound_us},
                         {"reached", position.reached}});
  }
  return {{"copy_gb_per_s", profile.ceilings.copy_gb_per_s},
          {"fma_gflop_per_s", profile.ceilings.fma_gflop_per_s},
          {"workloads", workloads},
          {"hints", profile.hints}};
}

}  // namespace ww::report
