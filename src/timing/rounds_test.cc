// SPDX-License-Identifier: Apache-2.0
#include "timing/rounds.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "timing/quantile.h"
#include "timing/resample.h"
#include "timing/simulated_machine.h"

namespace ww::timing {
namespace {

Rounds simulated(size_t count, double solution_us, double baseline_us, uint64_t seed = 7) {
  SimulatedMachine machine(Noise{.name = "test", .jitter = 0.02}, seed, 2);
  BaseEstimator estimator;
  Rounds rounds(2);
  while (rounds.size() < count) rounds.add(machine.round({solution_us, baseline_us}, estimator));
  return rounds;
}

TEST(BlockedValues, AgreesWithThePlainQuantile) {
  const std::vector<double> values = {9, 2, 7, 4, 4, 1, 8, 3, 6, 5, 0};
  const BlockedValues blocked(values, 4);
  const std::vector<uint16_t> once(4, 1);
  for (const double q : {0.0, 0.1, 0.25, 0.5, 0.9, 1.0}) {
    EXPECT_DOUBLE_EQ(blocked.quantile(q, once), quantile(values, q)) << q;
  }
}

TEST(BlockedValues, AgreesWithThePlainQuantileOfADrawWrittenOut) {
  const std::vector<double> values = {9, 2, 7, 4, 4, 1, 8, 3};
  const BlockedValues blocked(values, 4);  // (9 2) (7 4) (4 1) (8 3)
  const std::vector<uint16_t> counts = {2, 0, 1, 1};
  for (const double q : {0.0, 0.1, 0.25, 0.5, 0.9, 1.0}) {
    EXPECT_DOUBLE_EQ(blocked.quantile(q, counts), quantile({9, 2, 9, 2, 4, 1, 8, 3}, q)) << q;
  }
}

TEST(BlockedValues, MeanBetweenTwoQuantilesCountsEndsInPart) {
  const BlockedValues blocked({9, 2, 7, 4, 4, 1, 8, 3}, 4);  // (9 2) (7 4) (4 1) (8 3)
  const std::vector<uint16_t> once(4, 1), counts = {2, 0, 1, 1};
  EXPECT_DOUBLE_EQ(blocked.mean_between(0, 1, once), 38.0 / 8);
  EXPECT_DOUBLE_EQ(blocked.mean_between(0.25, 0.75, once), (3 + 4 + 4 + 7) / 4.0);
  // Of 1 2 2 3 4 8 9 9, from the middle of the first to the middle of the fourth.
  EXPECT_DOUBLE_EQ(blocked.mean_between(1.0 / 16, 7.0 / 16, counts), (0.5 * 1 + 2 + 2 + 0.5 * 3) / 3);
  EXPECT_DOUBLE_EQ(blocked.mean_between(0.5, 0.5, counts), blocked.quantile(0.5, counts));
}

TEST(BlockDraws, DrawAsManyBlocksAsThereAreEachTime) {
  const BlockDraws draws(13, 50, 3);
  for (size_t i = 0; i < draws.size(); i++) {
    const auto counts = draws.counts(i);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), 13);
  }
}

TEST(BlocksFor, KeepsEnoughBlocksInShortSeries) {
  EXPECT_EQ(blocks_for(4, 10), 4u);
  EXPECT_EQ(blocks_for(24, 10), 12u);
  EXPECT_EQ(blocks_for(400, 10), 40u);
}

TEST(Widening, FollowsStudentsT) {
  EXPECT_NEAR(widening_for(4) / std::sqrt(4.0 / 3), 3.182 / 1.960, 0.02);
  EXPECT_NEAR(widening_for(31) / std::sqrt(31.0 / 30), 2.042 / 1.960, 0.001);
}

TEST(EstimateRatio, IsTheSameForTheSameSeed) {
  const Rounds rounds = simulated(60, 1000, 2000);
  const RatioEstimate a = estimate_ratio(rounds, 0, 1, Method::cpu());
  const RatioEstimate b = estimate_ratio(rounds, 0, 1, Method::cpu());
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
}

TEST(EstimateRatio, HoldsTheTruthAndIsOrdered) {
  const RatioEstimate estimate = estimate_ratio(simulated(200, 1000, 2000), 0, 1, Method::cpu());
  EXPECT_LT(estimate.low, estimate.ratio);
  EXPECT_LT(estimate.ratio, estimate.high);
  EXPECT_NEAR(estimate.ratio, 2.0, 0.05);
}

TEST(EstimateRatio, IsNeverNarrowerThanTheFloor) {
  Rounds rounds(2);
  for (int i = 0; i < 50; i++) rounds.add(std::vector<Sample>{{10, 10, 10}, {20, 20, 20}});
  const RatioEstimate estimate = estimate_ratio(rounds, 0, 1, Method::cpu());
  EXPECT_NEAR(estimate.low, 2 * (1 - Method::cpu().floor), 1e-3);
  EXPECT_NEAR(estimate.high, 2 * (1 + Method::cpu().floor), 1e-3);
  EXPECT_DOUBLE_EQ(estimate.sampling, Method::cpu().floor);
}

TEST(EstimateRatio, AddsTheClocksErrorToTheInterval) {
  Rounds rounds(2);
  for (int i = 0; i < 50; i++) rounds.add(std::vector<Sample>{{100, 100, 110}, {200, 200, 230}});
  const RatioEstimate estimate = estimate_ratio(rounds, 0, 1, Method::cpu());
  EXPECT_NEAR(estimate.ratio, 2.0, 1e-9);
  EXPECT_NEAR(estimate.low, 200.0 / 110, 0.02);
  EXPECT_NEAR(estimate.high, 2.3, 0.02);
}

TEST(EstimateRatio, CancelsDriftThatBothSidesShare) {
  Rounds rounds(2);
  for (int i = 0; i < 100; i++) {
    const double speed = i < 50 ? 1.0 : 1.5;
    rounds.add(std::vector<Sample>{{100 * speed, 100 * speed, 100 * speed}, {200 * speed, 200 * speed, 200 * speed}});
  }
  EXPECT_NEAR(estimate_ratio(rounds, 0, 1, Method::cpu()).sampling, Method::cpu().floor, 1e-9);
}

TEST(EstimateJointRatio, IsTheGeometricMean) {
  const Rounds slow = simulated(100, 1000, 4000, 1), fast = simulated(60, 1000, 1000, 2);
  const std::vector<const Rounds*> both = {&slow, &fast};
  const RatioEstimate joint = estimate_joint_ratio(both, 0, 1, Method::cpu());
  const double expected =
      std::sqrt(estimate_ratio(slow, 0, 1, Method::cpu()).ratio * estimate_ratio(fast, 0, 1, Method::cpu()).ratio);
  EXPECT_NEAR(joint.ratio, expected, 1e-9);
  EXPECT_LT(joint.low, joint.ratio);
  EXPECT_GT(joint.high, joint.ratio);
}

TEST(EstimateJointRatio, IsAsTightAsOneWorkloadOrTighter) {
  const Rounds a = simulated(60, 1000, 2000, 1), b = simulated(60, 1000, 2000, 2);
  const std::vector<const Rounds*> both = {&a, &b};
  EXPECT_LE(estimate_joint_ratio(both, 0, 1, Method::cpu()).sampling,
            std::max(estimate_ratio(a, 0, 1, Method::cpu()).sampling, estimate_ratio(b, 0, 1, Method::cpu()).sampling));
}

TEST(EstimateTime, HoldsItsOwnFigureAndCountsDiscardedRounds) {
  Rounds rounds = simulated(40, 1000, 2000);
  rounds.discard();
  const TimeEstimate time = estimate_time(rounds, 1, Method::cpu());
  EXPECT_LE(time.low_us, time.time_us);
  EXPECT_LE(time.time_us, time.high_us);
  EXPECT_NEAR(time.time_us, 2000, 60);
  EXPECT_GT(time.base_us, 0);
  EXPECT_EQ(time.samples, 40u);
  EXPECT_EQ(time.discarded, 1u);
}

TEST(Sum, AddsFiguresAndIntervals) {
  const TimeEstimate each{
      .time_us = 2, .low_us = 1, .high_us = 4, .base_us = 5, .error_us = 1, .samples = 7, .discarded = 1};
  const TimeEstimate total = sum(std::vector<TimeEstimate>{each, each});
  EXPECT_DOUBLE_EQ(total.time_us, 4);
  EXPECT_DOUBLE_EQ(total.high_us, 8);
  EXPECT_EQ(total.samples, 14u);
}

TEST(Scale, AddsRelativeErrorsInSquares) {
  const RatioEstimate scaled =
      scale({2, 2 / std::exp(0.03), 2 * std::exp(0.03), 0.03}, {0.5, 0.5 / std::exp(0.04), 0.5 * std::exp(0.04), 0.04});
  EXPECT_DOUBLE_EQ(scaled.ratio, 1);
  EXPECT_NEAR(scaled.low, std::exp(-0.05), 1e-12);
  EXPECT_NEAR(scaled.high, std::exp(0.05), 1e-12);
}

TEST(StoppingRule, StopsEarlyOnAQuietMachine) {
  StoppingRule rule(Method::cpu());
  EXPECT_EQ(rule.ask(simulated(Method::cpu().fewest_rounds - 1, 1000, 1000), nanoseconds(5)),
            StoppingRule::Answer::kContinue);
  EXPECT_EQ(rule.ask(simulated(400, 1000, 1000), nanoseconds(5)), StoppingRule::Answer::kReached);
}

TEST(StoppingRule, StopsAtTheCapOnANoisyOne) {
  SimulatedMachine machine(Noise{.name = "wild", .jitter = 1.0}, 1, 2);
  BaseEstimator estimator;
  Rounds rounds(2);
  StoppingRule rule(Method::cpu());
  while (rounds.size() < 29) {
    rounds.add(machine.round({1000, 1000}, estimator));
    ASSERT_EQ(rule.ask(rounds, nanoseconds(1)), StoppingRule::Answer::kContinue);
  }
  EXPECT_EQ(rule.ask(rounds, nanoseconds(0)), StoppingRule::Answer::kCap);
}

TEST(StoppingRule, OverrunsTheCapForTheFewestRounds) {
  StoppingRule rule(Method::cpu());
  EXPECT_EQ(rule.ask(simulated(3, 1000, 1000), nanoseconds(-1)), StoppingRule::Answer::kContinue);
  EXPECT_EQ(rule.ask(simulated(4, 1000, 1000), nanoseconds(-1)), StoppingRule::Answer::kCap);
}

/// Twenty-four rounds with a sampling half-width below the goal, and a clock that is wrong by so much of every call.
StoppingRule::Answer after_a_little_scatter(double clock_error) {
  Rounds rounds(2);
  for (size_t i = 0; i < Method::cpu().fewest_rounds; i++) {
    const double solution_us = 1000 * (1 + 0.08 * static_cast<double>(i * 7 % 11) / 10);
    const double baseline_us = 1000 * (1 + 0.08 * static_cast<double>(i * 5 % 13) / 12);
    const auto sample = [&](double us) { return Sample{us * (1 - clock_error), us, us * (1 + clock_error), 0, 0}; };
    rounds.add(std::array{sample(solution_us), sample(baseline_us)});
  }
  return StoppingRule(Method::cpu()).ask(rounds, nanoseconds(5));
}

TEST(StoppingRule, GoesOnWhileMoreRoundsCanBringTheWholeIntervalDown) {
  EXPECT_EQ(after_a_little_scatter(0.0), StoppingRule::Answer::kReached);
  EXPECT_EQ(after_a_little_scatter(0.007), StoppingRule::Answer::kContinue);
}

TEST(StoppingRule, DoesNotTryToAverageTheClocksErrorAway) {
  EXPECT_EQ(after_a_little_scatter(0.02), StoppingRule::Answer::kReached);
}

TEST(Method, NamesItsStatistic) {
  EXPECT_EQ(Method::cpu().statistic(), "mean p5-p50");
  EXPECT_EQ(Method::cuda().statistic(), "median");
}

}  // namespace
}  // namespace ww::timing
