// SPDX-License-Identifier: Apache-2.0
//
// A seeded simulation, so deterministic: intervals hold the truth under every noise model, and do not where one side
// drifts for itself (which shows that the simulation can fail). coverage_perf.cc prints the figures at length.
#include <gtest/gtest.h>

#include <cmath>

#include "timing/simulated_machine.h"

namespace ww::timing {
namespace {

constexpr size_t kTrials = 50, kCapRounds = 70;

TEST(Coverage, IsAtLeastNinetyPercentUnderEveryNoise) {
  for (const Noise& noise : noise_models()) {
    const Coverage coverage = measure_coverage(noise, Method::cpu(), 2000, 1.4, kCapRounds, kTrials, 11);
    EXPECT_GE(coverage.held, 0.9) << noise.name;
    EXPECT_LT(std::abs(coverage.bias), 0.02) << noise.name;
  }
}

TEST(Coverage, OfTheSamplingIntervalAloneHoldsWhereNoiseIsSharedByBothSides) {
  for (const Noise& noise : noise_models()) {
    if (noise.side_drift > 0) continue;
    const Coverage coverage = measure_coverage(noise, Method::cpu(), 2000, 1.0, kCapRounds, kTrials, 12);
    EXPECT_GE(coverage.sampling_held, 0.9) << noise.name;
  }
}

TEST(Coverage, IsLostWhereOneSideDriftsBeyondTheFloor) {
  const Noise apart{.name = "far apart", .jitter = 0.003, .side_drift = 0.05};
  EXPECT_LT(measure_coverage(apart, Method::cpu(), 2000, 1.0, kCapRounds, kTrials, 13).sampling_held, 0.8);
}

}  // namespace
}  // namespace ww::timing
