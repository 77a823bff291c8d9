// SPDX-License-Identifier: Apache-2.0
#include "timing/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/fault.h"
#include "timing/quantile.h"
#include "timing/resample.h"

namespace ww::timing {
namespace {

constexpr double kLowTail = 0.025, kHighTail = 0.975;

/// Growth of the number of rounds between two looks of the stopping rule.
constexpr double kLookGrowth = 1.4;

std::vector<double> lows(std::span<const Sample> side) {
  std::vector<double> values;
  values.reserve(side.size());
  for (const Sample& sample : side) values.push_back(sample.low_us);
  return values;
}

std::vector<double> highs(std::span<const Sample> side) {
  std::vector<double> values;
  values.reserve(side.size());
  for (const Sample& sample : side) values.push_back(sample.high_us);
  return values;
}

/// Both ends of one side's samples, ready for resampling.
struct Ends {
  BlockedValues low, high;

  Ends(std::span<const Sample> side, size_t blocks) : low(lows(side), blocks), high(highs(side), blocks) {}
};

/// A figure on all data and on each draw, as logarithms: the plain one, and the two that lean on the clock's error.
struct LogFigures {
  double plain = 0, lower = 0, upper = 0;
  std::vector<double> plain_draws, lower_draws, upper_draws;

  explicit LogFigures(size_t draws) : plain_draws(draws), lower_draws(draws), upper_draws(draws) {}
};

/// Distance from `point` to the draws' tail, widened for the number of blocks. Negative at the low tail.
double reach(double point, std::vector<double> draws, double tail, double widening) {
  return (quantile(std::move(draws), tail) - point) * widening;
}

RatioEstimate interval(LogFigures figures, double widening, double floor) {
  const double down = reach(figures.lower, std::move(figures.lower_draws), kLowTail, widening);
  const double up = reach(figures.upper, std::move(figures.upper_draws), kHighTail, widening);
  const double low_tail = reach(figures.plain, figures.plain_draws, kLowTail, widening);
  const double high_tail = reach(figures.plain, std::move(figures.plain_draws), kHighTail, widening);
  return {std::exp(figures.plain), std::exp(std::min(figures.lower + down, figures.lower - floor)),
          std::exp(std::max(figures.upper + up, figures.upper + floor)), std::max(floor, (high_tail - low_tail) / 2)};
}

/// Adds one workload's log ratio, times `weight`, to `figures`.
void add_ratio(const Ends& solution, const Ends& baseline, double q, double weight, const BlockDraws& draws,
               LogFigures& figures) {
  struct Logs {
    double s_low, s_high, b_low, b_high;
  };
  const auto logs = [&](std::span<const uint16_t> counts) {
    return Logs{std::log(solution.low.quantile(q, counts)), std::log(solution.high.quantile(q, counts)),
                std::log(baseline.low.quantile(q, counts)), std::log(baseline.high.quantile(q, counts))};
  };
  const Logs all = logs(draws.each_once());
  figures.plain += weight * (all.b_low - all.s_low);
  figures.lower += weight * (all.b_low - all.s_high);
  figures.upper += weight * (all.b_high - all.s_low);
  for (size_t i = 0; i < draws.size(); i++) {
    const Logs drawn = logs(draws.counts(i));
    figures.plain_draws[i] += weight * (drawn.b_low - drawn.s_low);
    figures.lower_draws[i] += weight * (drawn.b_low - drawn.s_high);
    figures.upper_draws[i] += weight * (drawn.b_high - drawn.s_low);
  }
}

double median_of(std::span<const Sample> side, double Sample::*field) {
  std::vector<double> values;
  for (const Sample& sample : side) values.push_back(sample.*field);
  return quantile(std::move(values), 0.5);
}

}  // namespace

Method Method::cpu() {
  return {
      .quantile = 0.10, .block_rounds = 10, .draws = 400, .floor = 0.005, .goal = 0.02, .fewest_rounds = 24, .seed = 1};
}

Method Method::cuda() {
  return {.quantile = 0.5,
          .block_rounds = 10,
          .draws = 400,
          .floor = 0.0015,
          .goal = 0.005,
          .fewest_rounds = 24,
          .seed = 1};
}

std::string Method::statistic() const {
  if (quantile == 0.5) return "median";
  return fmt::format("p{:g}", quantile * 100);
}

void Rounds::add(std::span<const Sample> round) {
  WW_CHECK(round.size() == samples_.size(), "a round holds one sample of every side");
  for (size_t side = 0; side < samples_.size(); side++) samples_[side].push_back(round[side]);
}

TimeEstimate estimate_time(const Rounds& rounds, size_t side, const Method& method) {
  WW_CHECK(rounds.size() >= kFewestRounds, "too few rounds");
  const auto samples = rounds.side(side);
  const size_t blocks = blocks_for(rounds.size(), method.block_rounds);
  const Ends ends(samples, blocks);
  const BlockDraws draws(blocks, method.draws, method.seed);
  const double low = ends.low.quantile(method.quantile, draws.each_once());
  const double high = ends.high.quantile(method.quantile, draws.each_once());
  std::vector<double> low_draws(draws.size()), high_draws(draws.size());
  for (size_t i = 0; i < draws.size(); i++) {
    low_draws[i] = ends.low.quantile(method.quantile, draws.counts(i));
    high_draws[i] = ends.high.quantile(method.quantile, draws.counts(i));
  }
  const double widening = widening_for(blocks);
  const double down = reach(low, std::move(low_draws), kLowTail, widening);
  const double up = reach(high, std::move(high_draws), kHighTail, widening);
  return {.time_us = low,
          .low_us = std::max(0.0, std::min(low + down, low * (1 - method.floor))),
          .high_us = std::max(high + up, high * (1 + method.floor)),
          .base_us = median_of(samples, &Sample::base_us),
          .error_us = median_of(samples, &Sample::error_us),
          .samples = samples.size(),
          .discarded = rounds.discarded()};
}

RatioEstimate estimate_ratio(const Rounds& rounds, size_t solution, size_t baseline, const Method& method) {
  const Rounds* const one = &rounds;
  return estimate_joint_ratio({&one, 1}, solution, baseline, method);
}

RatioEstimate estimate_joint_ratio(std::span<const Rounds* const> workloads, size_t solution, size_t baseline,
                                   const Method& method) {
  WW_CHECK(!workloads.empty(), "a joint ratio needs a workload");
  LogFigures figures(method.draws);
  size_t freedom = 0;
  for (size_t w = 0; w < workloads.size(); w++) {
    const Rounds& rounds = *workloads[w];
    WW_CHECK(rounds.size() >= kFewestRounds, "too few rounds");
    const size_t blocks = blocks_for(rounds.size(), method.block_rounds);
    freedom += blocks - 1;
    add_ratio(Ends(rounds.side(solution), blocks), Ends(rounds.side(baseline), blocks), method.quantile,
              1.0 / static_cast<double>(workloads.size()), BlockDraws(blocks, method.draws, method.seed + w), figures);
  }
  return interval(std::move(figures), widening_for(freedom + 1), method.floor);
}

TimeEstimate sum(std::span<const TimeEstimate> workloads) {
  TimeEstimate total;
  for (const TimeEstimate& each : workloads) {
    total.time_us += each.time_us;
    total.low_us += each.low_us;
    total.high_us += each.high_us;
    total.base_us += each.base_us;
    total.error_us += each.error_us;
    total.samples += each.samples;
    total.discarded += each.discarded;
  }
  return total;
}

RatioEstimate scale(const RatioEstimate& measured, const RatioEstimate& factor) {
  const double ratio = measured.ratio * factor.ratio;
  const double down = std::hypot(std::log(measured.ratio / measured.low), std::log(factor.ratio / factor.low));
  const double up = std::hypot(std::log(measured.high / measured.ratio), std::log(factor.high / factor.ratio));
  return {ratio, ratio * std::exp(-down), ratio * std::exp(up), std::hypot(measured.sampling, factor.sampling)};
}

StoppingRule::Answer StoppingRule::ask(const Rounds& rounds, nanoseconds spent) {
  if (rounds.size() < kFewestRounds) return Answer::kContinue;
  if (rounds.size() >= next_look_) {
    next_look_ = static_cast<size_t>(std::ceil(static_cast<double>(next_look_) * kLookGrowth));
    bool known = true;
    for (size_t baseline = 1; baseline < rounds.sides() && known; baseline++) {
      known = estimate_ratio(rounds, 0, baseline, method_).sampling <= method_.goal;
    }
    if (known) return Answer::kReached;
  }
  return spent >= cap_ ? Answer::kCap : Answer::kContinue;
}

}  // namespace ww::timing
