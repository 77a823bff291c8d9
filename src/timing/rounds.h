// SPDX-License-Identifier: Apache-2.0
//
// Interleaved rounds of samples, and what they say: times and ratios with 95 % intervals. Pure code, deterministic
// given Method::seed. docs/statistics.md gives the method and its measured coverage. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "timing/sample.h"

namespace ww::timing {

/// How samples become a figure. `cpu()` and `cuda()` are the measured defaults.
struct Method {
  /// The statistic of one side: the mean of its samples between these quantiles; where they are equal, that quantile.
  double from, to;
  size_t block_rounds;   ///< longest run of neighbouring rounds that is resampled as one
  size_t draws;          ///< resamples
  double floor;          ///< a ratio's interval is at least this far (relative) to either side
  double goal;           ///< sampling stops once every ratio's sampling half-width is within this,
  double whole;          ///< and its whole interval (high / low - 1) within this, where the clock's part leaves room
  size_t fewest_rounds;  ///< before stopping is considered
  uint64_t seed;

  static Method cpu();
  static Method cuda();
  /// "mean p5-p50", "p25", "median".
  std::string statistic() const;
};

/// Each round holds one sample of every side, taken close together in random order. Side 0 is the solution by custom.
class Rounds {
 public:
  explicit Rounds(size_t sides) : samples_(sides) {}

  /// Requires: one sample a side.
  void add(std::span<const Sample> round);
  /// A round that the judge itself saw disturbed: counted, not used.
  void discard() { discarded_++; }

  size_t sides() const { return samples_.size(); }
  size_t size() const { return samples_.empty() ? 0 : samples_[0].size(); }
  size_t discarded() const { return discarded_; }
  std::span<const Sample> side(size_t index) const { return samples_[index]; }

 private:
  std::vector<std::vector<Sample>> samples_;
  size_t discarded_ = 0;
};

/// low_us and high_us hold the sampling interval and the clock's error.
struct TimeEstimate {
  double time_us = 0, low_us = 0, high_us = 0;
  double base_us = 0, error_us = 0;  ///< medians over the samples
  size_t samples = 0, discarded = 0;
};

/// Baseline over solution. `low` and `high` hold the sampling interval (95 %) and the clock's error of both sides;
/// `sampling` is the relative half-width of the sampling interval alone.
struct RatioEstimate {
  double ratio = 0, low = 0, high = 0;
  double sampling = 0;
};

/// Fewest rounds that say anything about their own scatter.
inline constexpr size_t kFewestRounds = 4;

/// Requires: kFewestRounds.
TimeEstimate estimate_time(const Rounds& rounds, size_t side, const Method& method);

/// Requires: kFewestRounds.
RatioEstimate estimate_ratio(const Rounds& rounds, size_t solution, size_t baseline, const Method& method);

/// Geometric mean of baseline over solution over workloads, each resampled within the same draw. Same requirements for
/// each of `workloads`; requires at least one.
RatioEstimate estimate_joint_ratio(std::span<const Rounds* const> workloads, size_t solution, size_t baseline,
                                   const Method& method);

/// Sum over workloads: estimates add up, and so do their intervals.
TimeEstimate sum(std::span<const TimeEstimate> workloads);

/// A ratio known from another day (a cached baseline), times one measured now: relative half-widths add up in squares.
RatioEstimate scale(const RatioEstimate& measured, const RatioEstimate& factor);

/// When to stop sampling one workload: every baseline's ratio is known well enough, or the cap is reached. Looks only
/// now and then, at counts that grow by a fixed factor: looking after every round would stop on luck.
class StoppingRule {
 public:
  explicit StoppingRule(Method method) : method_(method), next_look_(method.fewest_rounds) {}

  enum class Answer { kContinue, kReached, kCap };

  /// Ask after each round. `left`: sampling time that is left, none at the cap. A cap reached before kFewestRounds is
  /// overrun until there are as many.
  Answer ask(const Rounds& rounds, nanoseconds left);

 private:
  Method method_;
  size_t next_look_;
};

}  // namespace ww::timing
