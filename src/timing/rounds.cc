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

std::vector<double> values_of(std::span<const Sample> side, double Sample::*field) {
  std::vector<double> values;
  values.reserve(side.size());
  for (const Sample& sample : side) values.push_back(sample.*field);
  return values;
}

/// One side's samples, ready for resampling.
struct Ends {
  BlockedValues low, time, high;

  Ends(std::span<const Sample> side, size_t blocks)
      : low(values_of(side, &Sample::low_us), blocks),
        time(values_of(side, &Sample::time_us), blocks),
        high(values_of(side, &Sample::high_us), blocks) {}
};

double statistic(const BlockedValues& values, const Method& method, std::span<const uint16_t> counts) {
  return values.mean_between(method.from, method.to, counts);
}

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
void add_ratio(const Ends& solution, const Ends& baseline, const Method& method, double weight, const BlockDraws& draws,
               LogFigures& figures) {
  struct Logs {
    double low, time, high;
  };
  const auto logs = [&](const Ends& side, std::span<const uint16_t> counts) {
    return Logs{std::log(statistic(side.low, method, counts)), std::log(statistic(side.time, method, counts)),
                std::log(statistic(side.high, method, counts))};
  };
  const auto add = [&](std::span<const uint16_t> counts, double& plain, double& lower, double& upper) {
    const Logs s = logs(solution, counts), b = logs(baseline, counts);
    plain += weight * (b.time - s.time);
    lower += weight * (b.low - s.high);
    upper += weight * (b.high - s.low);
  };
  add(draws.each_once(), figures.plain, figures.lower, figures.upper);
  for (size_t i = 0; i < draws.size(); i++) {
    add(draws.counts(i), figures.plain_draws[i], figures.lower_draws[i], figures.upper_draws[i]);
  }
}

double median_of(std::span<const Sample> side, double Sample::*field) { return quantile(values_of(side, field), 0.5); }

/// Of the whole interval, what the clock's error may take before more rounds are of no use.
constexpr double kMostClockPart = 0.6;

bool well_enough(const RatioEstimate& estimate, const Method& method) {
  if (estimate.sampling > method.goal) return false;
  const double whole = estimate.high / estimate.low - 1;
  return whole <= method.whole || whole - 2 * estimate.sampling > kMostClockPart * method.whole;
}

}  // namespace

Method Method::cpu() {
  return {.from = 0.05,
          .to = 0.50,
          .block_rounds = 10,
          .draws = 400,
          .floor = 0.005,
          .goal = 0.02,
          .whole = 0.05,
          .fewest_rounds = 24,
          .seed = 1};
}

Method Method::cuda() {
  return {.from = 0.5,
          .to = 0.5,
          .block_rounds = 10,
          .draws = 400,
          .floor = 0.0015,
          .goal = 0.005,
          .whole = 0.05,
          .fewest_rounds = 24,
          .seed = 1};
}

std::string Method::statistic() const {
  if (from == 0.5 && to == 0.5) return "median";
  if (from == to) return fmt::format("p{:g}", from * 100);
  return fmt::format("mean p{:g}-p{:g}", from * 100, to * 100);
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
  const double low = statistic(ends.low, method, draws.each_once());
  const double high = statistic(ends.high, method, draws.each_once());
  std::vector<double> low_draws(draws.size()), high_draws(draws.size());
  for (size_t i = 0; i < draws.size(); i++) {
    low_draws[i] = statistic(ends.low, method, draws.counts(i));
    high_draws[i] = statistic(ends.high, method, draws.counts(i));
  }
  const double widening = widening_for(blocks);
  const double down = reach(low, std::move(low_draws), kLowTail, widening);
  const double up = reach(high, std::move(high_draws), kHighTail, widening);
  const double time = statistic(ends.time, method, draws.each_once());
  return {.time_us = time,
          .low_us = std::max(0.0, std::min(low + down, time * (1 - method.floor))),
          .high_us = std::max(high + up, time * (1 + method.floor)),
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
    add_ratio(Ends(rounds.side(solution), blocks), Ends(rounds.side(baseline), blocks), method,
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

StoppingRule::Answer StoppingRule::ask(const Rounds& rounds, nanoseconds left) {
  if (rounds.size() < kFewestRounds) return Answer::kContinue;
  if (rounds.size() >= next_look_) {
    next_look_ = static_cast<size_t>(std::ceil(static_cast<double>(next_look_) * kLookGrowth));
    bool known = true;
    for (size_t baseline = 1; baseline < rounds.sides() && known; baseline++) {
      known = well_enough(estimate_ratio(rounds, 0, baseline, method_), method_);
    }
    if (known) return Answer::kReached;
  }
  return left.count() <= 0 ? Answer::kCap : Answer::kContinue;
}

}  // namespace ww::timing
