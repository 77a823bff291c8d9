// SPDX-License-Identifier: Apache-2.0
#include "timing/sample.h"

#include <gtest/gtest.h>

#include "timing/quantile.h"

namespace ww::timing {
namespace {

BaseEstimator estimator_of(std::vector<Probe> probes) {
  BaseEstimator estimator;
  estimator.add(probes);
  return estimator;
}

/// Five probes around `extra_us`, one of them a tail.
std::vector<Probe> probes_at(double spin_us, double extra_us) {
  return {{spin_us, extra_us - 2},
          {spin_us, extra_us},
          {spin_us, extra_us + 1},
          {spin_us, extra_us},
          {spin_us, extra_us + 5000}};
}

BaseEstimator two_spins() {
  BaseEstimator estimator = estimator_of(probes_at(0, 20));
  estimator.add(probes_at(1000, 40));
  return estimator;
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.25), 7);
}

TEST(BaseEstimator, IsNotReadyBeforeFiveProbesOfOneSpin) {
  BaseEstimator estimator;
  for (int i = 0; i < 4; i++) estimator.add({0, 20});
  for (int i = 0; i < 4; i++) estimator.add({100, 20});
  EXPECT_FALSE(estimator.ready());
  estimator.add({100, 20});
  EXPECT_TRUE(estimator.ready());
  EXPECT_EQ(estimator.probes(), 9u);
}

TEST(BaseEstimator, IsNotMovedByTails) { EXPECT_DOUBLE_EQ(estimator_of(probes_at(0, 20)).at(0).base_us, 20); }

TEST(BaseEstimator, InterpolatesBetweenSpinLengthsAndStaysBeyondThem) {
  const BaseEstimator estimator = two_spins();
  EXPECT_DOUBLE_EQ(estimator.at(500).base_us, 30);
  EXPECT_DOUBLE_EQ(estimator.at(1'000'000).base_us, 40);
  EXPECT_DOUBLE_EQ(estimator.at(-3).base_us, 20);
}

TEST(BaseEstimator, DoesNotDependOnTheOrderOfProbes) {
  BaseEstimator other = estimator_of(probes_at(1000, 40));
  other.add(probes_at(0, 20));
  EXPECT_DOUBLE_EQ(other.at(700).base_us, two_spins().at(700).base_us);
  EXPECT_DOUBLE_EQ(other.at(700).error_us, two_spins().at(700).error_us);
}

TEST(BaseEstimator, ErrorGrowsBeyondTheLongestSpinWhereItGrewBefore) {
  BaseEstimator estimator = estimator_of({{0, 20}, {0, 20}, {0, 20}, {0, 20}, {0, 20}});
  estimator.add(std::vector<Probe>{{100, 10}, {100, 20}, {100, 30}, {100, 40}, {100, 50}});
  EXPECT_GT(estimator.at(10'000).error_us, estimator.at(100).error_us);
  EXPECT_DOUBLE_EQ(estimator.at(10'000).base_us, estimator.at(100).base_us);
}

TEST(BoundSample, BelievesAnHonestInnerClock) {
  const Sample sample = bound_sample({.inner_us = 100, .outer_us = 120}, Base{20, 5});
  EXPECT_DOUBLE_EQ(sample.low_us, 100);
  EXPECT_DOUBLE_EQ(sample.time_us, 100);
  EXPECT_DOUBLE_EQ(sample.high_us, 105);
}

TEST(BoundSample, GivesALyingClockNoMoreThanTheError) {
  const Sample lie = bound_sample({.inner_us = 0, .outer_us = 120}, Base{20, 5});
  EXPECT_DOUBLE_EQ(lie.low_us, 95);
  EXPECT_DOUBLE_EQ(lie.time_us, 100);
  EXPECT_DOUBLE_EQ(lie.high_us, 105);
}

TEST(BoundSample, NeverFallsBelowTheClocksResolution) {
  const Sample sample = bound_sample({.inner_us = -1e9, .outer_us = 3}, Base{20, 5});
  EXPECT_GT(sample.low_us, 0);
  EXPECT_GE(sample.high_us, sample.low_us);
}

ClockBlock block_of(double inner_us, double outer_us, double probe_extra_us = 20) {
  return {std::vector<Clocked>(8, Clocked{inner_us, outer_us}), std::vector<Probe>(3, Probe{0, probe_extra_us})};
}

TEST(ClockMismatch, IsFoundInTwoSeparateBlocks) {
  const BaseEstimator estimator = two_spins();
  const std::vector<ClockBlock> blocks = {block_of(10, 530), block_of(500, 530), block_of(10, 530)};
  const ClockMismatch mismatch = find_clock_mismatch(blocks, estimator);
  EXPECT_TRUE(mismatch.found);
  EXPECT_EQ(mismatch.blocks, 2u);
  EXPECT_NEAR(mismatch.excess_us, 490, 1);
}

TEST(ClockMismatch, IsNotFoundInOneBlockOrTwoNeighbours) {
  const BaseEstimator estimator = two_spins();
  const std::vector<ClockBlock> one = {block_of(500, 530), block_of(10, 530), block_of(500, 530)};
  EXPECT_FALSE(find_clock_mismatch(one, estimator).found);
  const std::vector<ClockBlock> neighbours = {block_of(10, 530), block_of(10, 530), block_of(500, 530)};
  EXPECT_FALSE(find_clock_mismatch(neighbours, estimator).found);
}

TEST(ClockMismatch, IsNotFoundInRareLateWakeUps) {
  const BaseEstimator estimator = two_spins();
  ClockBlock block = block_of(500, 530);
  for (size_t i = 0; i < 5; i++) block.calls[i].outer_us = 5000;
  EXPECT_FALSE(find_clock_mismatch(std::vector<ClockBlock>(4, block), estimator).found);
}

TEST(ClockMismatch, IsNotFoundInLoadThatTheTwinSawToo) {
  const BaseEstimator estimator = two_spins();
  const std::vector<ClockBlock> loaded(4, block_of(500, 1000, 700));
  EXPECT_FALSE(find_clock_mismatch(loaded, estimator).found);
  const std::vector<ClockBlock> alone(4, block_of(500, 1000, 20));
  EXPECT_TRUE(find_clock_mismatch(alone, estimator).found);
}

}  // namespace
}  // namespace ww::timing
