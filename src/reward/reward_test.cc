// SPDX-License-Identifier: Apache-2.0
#include "reward/reward.h"

#include <gtest/gtest.h>

namespace ww::reward {
namespace {

using verdict::Conclusion;
using verdict::Outcome;
using verdict::Ratio;
using verdict::Timing;
using verdict::Verdict;

/// A pass whose ratios are wide, so that ratio and low differ.
Verdict passing(std::optional<double> eager_low, std::optional<double> compile_low) {
  Timing timing;
  if (eager_low) timing.speedup.eager = Ratio{*eager_low * 1.5, *eager_low, *eager_low * 2};
  if (compile_low) timing.speedup.compile = Ratio{*compile_low * 1.5, *compile_low, *compile_low * 2};
  Verdict verdict;
  verdict.conclusion = Conclusion<Timing>::pass(timing);
  return verdict;
}

Verdict failed(Outcome outcome) {
  Verdict verdict;
  verdict.conclusion = Conclusion<Timing>::failed(outcome, "why");
  return verdict;
}

TEST(Milestone, FollowsThePublishedSteps) {
  EXPECT_EQ(reward(Kind::kMilestone, passing(1.0, 1.0)), 1);
  EXPECT_EQ(reward(Kind::kMilestone, passing(1.06, 1.0)), 2);
  EXPECT_EQ(reward(Kind::kMilestone, passing(1.06, 1.06)), 3);
  EXPECT_EQ(reward(Kind::kMilestone, passing(1.0, 1.5)), 1);
  EXPECT_EQ(reward(Kind::kMilestone, passing(70, std::nullopt)), 2);
}

TEST(Milestone, DrawsTheLineAtFivePercentOfTheBaselinesTimeExclusive) {
  EXPECT_EQ(reward(Kind::kMilestone, passing(1.0526, std::nullopt)), 1);
  EXPECT_EQ(reward(Kind::kMilestone, passing(1.0527, std::nullopt)), 2);
}

TEST(Milestone, PaysAPassWithoutTimingForBeingCorrect) {
  Verdict verdict;
  verdict.conclusion = Conclusion<Timing>::pass(std::nullopt);
  EXPECT_EQ(reward(Kind::kMilestone, verdict), 1);
  EXPECT_EQ(reward(Kind::kSpeedup, verdict), std::nullopt);
}

TEST(Speedup, IsTheLowEndAgainstCompileElseEager) {
  EXPECT_EQ(reward(Kind::kSpeedup, passing(2.0, 1.25)), 1.25);
  EXPECT_EQ(reward(Kind::kSpeedup, passing(2.0, std::nullopt)), 2.0);
  EXPECT_EQ(reward(Kind::kSpeedup, passing(std::nullopt, std::nullopt)), std::nullopt);
}

TEST(Reward, IsMinusOneForEveryFailureOfTheSolution) {
  for (const Outcome outcome : {Outcome::kWrong, Outcome::kBuildError, Outcome::kCrash, Outcome::kTimeout,
                                Outcome::kOutOfMemory, Outcome::kForbidden, Outcome::kCheat}) {
    EXPECT_EQ(reward(Kind::kMilestone, failed(outcome)), -1);
    EXPECT_EQ(reward(Kind::kSpeedup, failed(outcome)), -1);
  }
}

TEST(Reward, DoesNotExistWithoutAVerdict) {
  EXPECT_EQ(reward(Kind::kMilestone, failed(Outcome::kNoVerdict)), std::nullopt);
  EXPECT_EQ(reward(Kind::kSpeedup, failed(Outcome::kNoVerdict)), std::nullopt);
}

TEST(Kind, IsFoundByItsName) {
  EXPECT_EQ(kind_from_name("milestone"), Kind::kMilestone);
  EXPECT_EQ(kind_from_name("speedup"), Kind::kSpeedup);
  EXPECT_EQ(kind_from_name("sol"), std::nullopt);
}

}  // namespace
}  // namespace ww::reward
