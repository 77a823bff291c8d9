// SPDX-License-Identifier: Apache-2.0
#include "judge/measurement.h"

#include <gtest/gtest.h>

#include <array>

namespace ww::judge {
namespace {

Measurement with_probes(std::vector<Side> sides) {
  Measurement measurement(std::move(sides), task::ClockPolicy::kGuarded);
  measurement.begin_block();
  for (size_t i = 0; i < timing::BaseEstimator::kFewestProbes; i++) {
    for (const TwinKind kind : {TwinKind::kNative, TwinKind::kPython}) {
      measurement.add_probe(kind, {.spin_us = 1000, .extra_us = 50});
    }
  }
  return measurement;
}

void add(Measurement& measurement, double solution_us, double eager_us, bool disturbed = false) {
  const std::array<timing::Clocked, 2> calls = {
      {{solution_us, solution_us + 50, disturbed}, {eager_us, eager_us + 50}}};
  measurement.add_round(calls);
}

TEST(Measurement, LeavesOutAndCountsRoundsWithADisturbedCall) {
  Measurement measurement = with_probes({Side::kSolution, Side::kEager});
  for (int i = 0; i < 8; i++) add(measurement, 1000, 2000);
  for (int i = 0; i < 3; i++) add(measurement, 90'000, 2000, true);
  const timing::Rounds rounds = measurement.bounded();
  EXPECT_EQ(rounds.size(), 8u);
  EXPECT_EQ(rounds.discarded(), 3u);
  const auto figures = workload_figures(rounds, measurement.sides(), std::nullopt);
  EXPECT_NEAR(figures.speedup.eager->ratio, 2, 1e-9);
  EXPECT_EQ(figures.times.solution.discarded, 3);
}

TEST(Measurement, SeesASolutionThatClaimsAFifthOfItsTime) {
  Measurement measurement = with_probes({Side::kSolution, Side::kEager});
  for (int block = 0; block < 3; block++) {
    measurement.begin_block();
    for (int i = 0; i < 4; i++) {
      const std::array<timing::Clocked, 2> calls = {{{1000, 5050}, {2000, 2050}}};
      measurement.add_round(calls);
    }
  }
  EXPECT_TRUE(measurement.mismatch().found);
}

TEST(Measurement, ScalesCompileByACachedRatio) {
  Measurement measurement = with_probes({Side::kSolution, Side::kEager});
  for (int i = 0; i < 8; i++) add(measurement, 1000, 2000);
  auto figures = workload_figures(measurement.bounded(), measurement.sides(), std::nullopt);
  scale_compile(figures, {.ratio = 1.25, .low = 1.2, .high = 1.3});
  EXPECT_NEAR(figures.speedup.compile->ratio, 1.6, 1e-9);
  EXPECT_LT(figures.speedup.compile->low, 2 / 1.29);
}

}  // namespace
}  // namespace ww::judge
