// SPDX-License-Identifier: Apache-2.0
#include "timing/simulated_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "timing/quantile.h"

namespace ww::timing {
namespace {

constexpr double kDriftCalls = 600;
constexpr double kSpeedCalls = 80;
constexpr double kLeastExtraUs = 12;
constexpr std::array<double, 4> kSpins = {0, 100, 1000, 10000};
constexpr size_t kFirstProbes = 20;

}  // namespace

std::vector<Noise> noise_models() {
  return {{.name = "quiet", .jitter = 0.003},
          {.name = "jitter", .jitter = 0.03},
          {.name = "memory", .jitter = 0.2},
          {.name = "bursts", .burst_share = 0.3},
          {.name = "long bursts", .burst_share = 0.4, .burst_length = 60},
          {.name = "drift", .drift = 0.1},
          {.name = "drift apart", .jitter = 0.005, .side_drift = 0.004},
          {.name = "two speeds", .second_speed = 0.15},
          {.name = "loaded", .jitter = 0.05, .burst_share = 0.7, .burst_length = 25, .burst_size = 1.0, .wake_us = 80},
          {.name = "all",
           .jitter = 0.02,
           .burst_share = 0.3,
           .burst_length = 20,
           .drift = 0.05,
           .side_drift = 0.002,
           .second_speed = 0.1,
           .wake_us = 20}};
}

SimulatedMachine::SimulatedMachine(Noise noise, uint64_t seed, size_t sides) : noise_(noise), generator_(seed) {
  std::uniform_real_distribution<double> phase(0, 2 * std::numbers::pi);
  for (size_t i = 0; i <= sides; i++) phases_.push_back(phase(generator_));
}

double SimulatedMachine::slow_down(size_t side) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::exponential_distribution<double> exponential(1);
  calls_++;
  const double leave = 1 / noise_.burst_length;
  const double enter = noise_.burst_share >= 1 ? 1 : leave * noise_.burst_share / (1 - noise_.burst_share);
  if (uniform(generator_) < (burst_ ? leave : enter)) {
    burst_ = !burst_;
    burst_size_ = noise_.burst_size * exponential(generator_);
  }
  if (uniform(generator_) < 1 / kSpeedCalls) second_speed_ = !second_speed_;
  const double angle = 2 * std::numbers::pi * calls_ / kDriftCalls;
  double factor = 1 + noise_.jitter * exponential(generator_);
  if (burst_) factor *= 1 + burst_size_ * uniform(generator_) * 2;
  if (second_speed_) factor *= 1 + noise_.second_speed;
  factor *= 1 + noise_.drift * std::sin(angle + phases_.back());
  factor *= 1 + noise_.side_drift * std::sin(angle * 1.3 + phases_[side]);
  return factor;
}

double SimulatedMachine::wake() {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::exponential_distribution<double> exponential(1);
  const double extra = noise_.wake_us * exponential(generator_);
  return kLeastExtraUs + (uniform(generator_) < noise_.wake_tail_share ? 20 * extra : extra);
}

Clocked SimulatedMachine::call(size_t side, double true_us) {
  const double inner = true_us * slow_down(side);
  return {inner, inner + wake()};
}

Probe SimulatedMachine::probe(double spin_us) { return {spin_us, wake()}; }

std::vector<Sample> SimulatedMachine::round(const std::vector<double>& true_us, BaseEstimator& estimator) {
  while (estimator.probes() < kFirstProbes) estimator.add(probe(kSpins[probes_++ % kSpins.size()]));
  estimator.add(probe(kSpins[probes_++ % kSpins.size()]));
  std::vector<size_t> order(true_us.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::shuffle(order.begin(), order.end(), generator_);
  std::vector<Sample> samples(true_us.size());
  for (const size_t side : order) samples[side] = bound_sample(call(side, true_us[side]), estimator);
  return samples;
}

Coverage measure_coverage(const Noise& noise, const Method& method, double solution_us, double true_ratio,
                          size_t cap_rounds, size_t trials, uint64_t seed) {
  std::vector<double> sampling, rounds_taken, bias;
  size_t held = 0, sampling_held = 0;
  for (size_t trial = 0; trial < trials; trial++) {
    SimulatedMachine machine(noise, seed + trial, 2);
    BaseEstimator estimator;
    Rounds rounds(2);
    StoppingRule rule(method);
    auto answer = StoppingRule::Answer::kContinue;
    while (answer == StoppingRule::Answer::kContinue) {
      rounds.add(machine.round({solution_us, solution_us * true_ratio}, estimator));
      answer = rule.ask(rounds, nanoseconds(rounds.size() < cap_rounds ? 1 : 0));
    }
    const RatioEstimate estimate = estimate_ratio(rounds, 0, 1, method);
    held += estimate.low <= true_ratio && true_ratio <= estimate.high;
    sampling_held += std::abs(std::log(estimate.ratio / true_ratio)) <= estimate.sampling;
    sampling.push_back(estimate.sampling);
    rounds_taken.push_back(static_cast<double>(rounds.size()));
    bias.push_back(estimate.ratio / true_ratio - 1);
  }
  const auto share = [&](size_t count) { return static_cast<double>(count) / static_cast<double>(trials); };
  return {share(held), share(sampling_held), quantile(std::move(sampling), 0.5), quantile(std::move(rounds_taken), 0.5),
          quantile(std::move(bias), 0.5)};
}

}  // namespace ww::timing
