// SPDX-License-Identifier: Apache-2.0
//
// A machine made of noise, for tests and benchmarks of the statistics: calls of known true duration, disturbed in ways
// seen on real ones. Deterministic given the seed.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "timing/rounds.h"
#include "timing/sample.h"

namespace ww::timing {

struct Noise {
  std::string_view name;
  double jitter = 0.01;           ///< relative scale of a call's own, one-sided scatter
  double burst_share = 0;         ///< share of calls inside bursts
  double burst_length = 12;       ///< mean length of a burst, in calls
  double burst_size = 0.4;        ///< mean relative slow-down within a burst
  double drift = 0;               ///< slow common swing, relative, over about 300 rounds
  double side_drift = 0;          ///< the same, but apart for each side
  double second_speed = 0;        ///< relative slow-down of a second clock speed that the processor changes to and fro
  double wake_us = 8;             ///< mean of what waking up adds to the outer clock beyond its least
  double wake_tail_share = 0.03;  ///< share of calls where that is twenty times as much
};

/// Quiet, shared, drifting, loaded ... machines.
std::vector<Noise> noise_models();

class SimulatedMachine {
 public:
  SimulatedMachine(Noise noise, uint64_t seed, size_t sides);

  /// One call of `side` that would take true_us undisturbed; the claim is honest.
  Clocked call(size_t side, double true_us);
  /// One call of the twin.
  Probe probe(double spin_us);
  /// One round in random order, bounded with `estimator`, after a probe that was added to it.
  std::vector<Sample> round(const std::vector<double>& true_us, BaseEstimator& estimator);

 private:
  double slow_down(size_t side);
  double wake();

  Noise noise_;
  std::mt19937_64 generator_;
  bool burst_ = false, second_speed_ = false;
  double burst_size_ = 0;
  double calls_ = 0;
  std::vector<double> phases_;
  size_t probes_ = 0;
};

struct Coverage {
  double held = 0;             ///< share of 95 % intervals that hold the true ratio
  double sampling_held = 0;    ///< the same for the sampling interval alone, without the clock's error
  double median_sampling = 0;  ///< relative half-width of the sampling interval
  double median_rounds = 0;
  double bias = 0;  ///< median of ratio / true ratio - 1
};

/// Judges `trials` times two sides of `solution_us` and solution_us * true_ratio under the stopping rule, with a cap of
/// `cap_rounds`.
Coverage measure_coverage(const Noise& noise, const Method& method, double solution_us, double true_ratio,
                          size_t cap_rounds, size_t trials, uint64_t seed);

}  // namespace ww::timing
