// SPDX-License-Identifier: Apache-2.0
#include "judge/measurement.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace ww::judge {
namespace {

using timing::RatioEstimate;
using timing::TimeEstimate;

verdict::SideTime side_time(const TimeEstimate& estimate, const std::string& statistic) {
  return {.statistic = statistic,
          .time_us = estimate.time_us,
          .low_us = estimate.low_us,
          .high_us = estimate.high_us,
          .base_us = estimate.base_us,
          .error_us = estimate.error_us,
          .samples = static_cast<int64_t>(estimate.samples),
          .discarded = static_cast<int64_t>(estimate.discarded)};
}

verdict::Ratio ratio(const RatioEstimate& estimate) { return {estimate.ratio, estimate.low, estimate.high}; }

RatioEstimate estimate(const verdict::Ratio& ratio) { return {ratio.ratio, ratio.low, ratio.high, 0}; }

std::optional<size_t> index_of(const std::vector<Side>& sides, Side side) {
  const auto found = std::find(sides.begin(), sides.end(), side);
  if (found == sides.end()) return std::nullopt;
  return static_cast<size_t>(found - sides.begin());
}

verdict::SideTime sum_of(const std::vector<verdict::WorkloadTiming>& workloads,
                         const std::function<const verdict::SideTime&(const verdict::Times&)>& pick) {
  verdict::SideTime total{.statistic = "sum"};
  for (const auto& workload : workloads) {
    const verdict::SideTime& part = pick(workload.times);
    total.time_us += part.time_us;
    total.low_us += part.low_us;
    total.high_us += part.high_us;
    total.base_us += part.base_us;
    total.error_us += part.error_us;
    total.samples += part.samples;
    total.discarded += part.discarded;
  }
  return total;
}

/// Geometric mean of ratios that are known apart from each other: their logarithms' half-widths add up in squares.
verdict::Ratio mean_of(const std::vector<verdict::Ratio>& ratios) {
  double log_ratio = 0, below = 0, above = 0;
  for (const auto& each : ratios) {
    log_ratio += std::log(each.ratio);
    below += std::pow(std::log(each.ratio / each.low), 2);
    above += std::pow(std::log(each.high / each.ratio), 2);
  }
  const double count = static_cast<double>(ratios.size());
  const double centre = log_ratio / count;
  return {std::exp(centre), std::exp(centre - std::sqrt(below) / count), std::exp(centre + std::sqrt(above) / count)};
}

}  // namespace

const timing::Method& cpu_method() {
  static const timing::Method method = timing::Method::cpu();
  return method;
}

Measurement::Measurement(std::vector<Side> sides, task::ClockPolicy clock)
    : sides_(std::move(sides)), clock_(clock), stopping_(cpu_method()) {
  WW_CHECK(!sides_.empty() && sides_[0] == Side::kSolution, "the first side is the solution");
}

void Measurement::begin_block() { blocks_.emplace_back(); }

void Measurement::add_probe(TwinKind kind, timing::Probe probe) {
  if (kind == TwinKind::kPython) {
    python_.add(probe);
    return;
  }
  native_.add(probe);
  if (!blocks_.empty()) blocks_.back().native_probes.push_back(probe);
}

void Measurement::add_round(std::span<const timing::Clocked> calls) {
  WW_CHECK(calls.size() == sides_.size() && !blocks_.empty(), "a round has one call of each side, in a block");
  if (std::any_of(calls.begin(), calls.end(), [](const timing::Clocked& call) { return call.disturbed; })) {
    disturbed_++;
    return;
  }
  blocks_.back().rounds.emplace_back(calls.begin(), calls.end());
  rounds_++;
}

const timing::BaseEstimator& Measurement::estimator(TwinKind kind) const {
  return kind == TwinKind::kNative ? native_ : python_;
}

timing::Sample Measurement::bound(Side side, timing::Clocked call, task::ClockPolicy clock) const {
  if (clock == task::ClockPolicy::kDevice) return {call.inner_us, call.inner_us, call.inner_us, 0, 0};
  return timing::bound_sample(call, estimator(twin_of(side)));
}

std::optional<timing::Base> Measurement::base(TwinKind kind, double duration_us) const {
  if (!estimator(kind).ready()) return std::nullopt;
  return estimator(kind).at(duration_us);
}

timing::Rounds Measurement::bounded(task::ClockPolicy clock) const {
  timing::Rounds rounds(sides_.size());
  for (size_t i = 0; i < disturbed_; i++) rounds.discard();
  std::vector<timing::Sample> samples(sides_.size());
  for (const Block& block : blocks_) {
    for (const auto& calls : block.rounds) {
      for (size_t i = 0; i < sides_.size(); i++) samples[i] = bound(sides_[i], calls[i], clock);
      rounds.add(samples);
    }
  }
  return rounds;
}

timing::StoppingRule::Answer Measurement::ask(nanoseconds left) { return stopping_.ask(bounded(), left); }

timing::ClockMismatch Measurement::mismatch() const {
  std::vector<timing::ClockBlock> blocks;
  for (const Block& block : blocks_) {
    timing::ClockBlock& made = blocks.emplace_back();
    for (const auto& calls : block.rounds) made.calls.push_back(calls[0]);
    made.probes = block.native_probes;
  }
  return timing::find_clock_mismatch(blocks, native_);
}

verdict::WorkloadTiming workload_figures(const timing::Rounds& rounds, const std::vector<Side>& sides,
                                         std::optional<double> prepare_us) {
  const timing::Method& method = cpu_method();
  const auto time = [&](size_t side) { return side_time(estimate_time(rounds, side, method), method.statistic()); };
  verdict::WorkloadTiming figures;
  figures.prepare_us = prepare_us;
  figures.times.solution = time(0);
  if (const auto eager = index_of(sides, Side::kEager)) {
    figures.times.eager = time(*eager);
    figures.speedup.eager = ratio(estimate_ratio(rounds, 0, *eager, method));
  }
  if (const auto compile = index_of(sides, Side::kCompile)) {
    figures.times.compile = time(*compile);
    figures.speedup.compile = ratio(estimate_ratio(rounds, 0, *compile, method));
  }
  if (const auto compile_max = index_of(sides, Side::kCompileMax)) figures.times.compile_max = time(*compile_max);
  return figures;
}

void scale_compile(verdict::WorkloadTiming& timing, const verdict::Ratio& factor) {
  if (!timing.times.eager || !timing.speedup.eager) return;
  const verdict::SideTime& eager = *timing.times.eager;
  // factor = eager / compile, hence compile = eager / factor; the interval takes both uncertainties at their worst.
  timing.times.compile = eager;
  timing.times.compile->time_us = eager.time_us / factor.ratio;
  timing.times.compile->low_us = eager.low_us / factor.high;
  timing.times.compile->high_us = eager.high_us / factor.low;
  const verdict::Ratio inverse{1 / factor.ratio, 1 / factor.high, 1 / factor.low};
  timing.speedup.compile = ratio(timing::scale(estimate(*timing.speedup.eager), estimate(inverse)));
}

verdict::Timing total_figures(std::span<const timing::Rounds> rounds, const std::vector<Side>& sides,
                              const std::vector<verdict::WorkloadTiming>& workloads,
                              const std::vector<verdict::Ratio>& factors) {
  std::vector<const timing::Rounds*> all;
  for (const auto& each : rounds) all.push_back(&each);
  verdict::Timing total;
  total.times.solution = sum_of(
      workloads, [](const auto& times) -> const auto& { return times.solution; });
  if (const auto eager = index_of(sides, Side::kEager)) {
    total.times.eager = sum_of(
        workloads, [](const auto& times) -> const auto& { return *times.eager; });
    total.speedup.eager = ratio(estimate_joint_ratio(all, 0, *eager, cpu_method()));
  }
  const auto compile = index_of(sides, Side::kCompile);
  if (compile) total.speedup.compile = ratio(estimate_joint_ratio(all, 0, *compile, cpu_method()));
  if (!compile && !factors.empty() && total.speedup.eager) {
    const verdict::Ratio factor = mean_of(factors);
    const verdict::Ratio inverse{1 / factor.ratio, 1 / factor.high, 1 / factor.low};
    total.speedup.compile = ratio(timing::scale(estimate(*total.speedup.eager), estimate(inverse)));
  }
  if (compile || total.speedup.compile) {
    total.times.compile = sum_of(
        workloads, [](const auto& times) -> const auto& { return *times.compile; });
  }
  if (index_of(sides, Side::kCompileMax)) {
    total.times.compile_max = sum_of(
        workloads, [](const auto& times) -> const auto& { return *times.compile_max; });
  }
  return total;
}

}  // namespace ww::judge
