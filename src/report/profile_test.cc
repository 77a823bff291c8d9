// SPDX-License-Identifier: Apache-2.0
#include "report/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace ww::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Ceilings kMachine{.copy_gb_per_s = 10, .fma_gflop_per_s = 100};

verdict::SideTime side(double time_us, double spread = 0.02) {
  return {.statistic = "p25",
          .time_us = time_us,
          .low_us = time_us * (1 - spread),
          .high_us = time_us * (1 + spread),
          .base_us = 20,
          .error_us = 2,
          .samples = 100,
          .discarded = 0};
}

verdict::WorkloadVerdict timed(const std::string& name, double solution_us, double eager_us, double spread = 0.02) {
  const double ratio = eager_us / solution_us;
  verdict::WorkloadVerdict made;
  made.name = name;
  made.conclusion = verdict::Conclusion<verdict::WorkloadTiming>::pass(verdict::WorkloadTiming{
      .times = {.solution = side(solution_us, spread), .eager = side(eager_us), .compile = {}, .compile_max = {}},
      .speedup = {.eager = verdict::Ratio{ratio, ratio * 0.97, ratio * 1.03}, .compile = {}},
      .prepare_us = {}});
  return made;
}

verdict::Verdict verdict_of(std::vector<verdict::WorkloadVerdict> workloads) {
  verdict::Verdict verdict;
  verdict.task.name = "matmul";
  verdict.device = {.name = "cpu", .model = "", .features = "", .cores = 2, .threads = 2, .other = {}};
  verdict.isolation.level = "full";
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::pass(
      verdict::Timing{.times = workloads.front().conclusion.figures()->times,
                      .speedup = workloads.front().conclusion.figures()->speedup});
  verdict.workloads = std::move(workloads);
  return verdict;
}

TEST(Profile, AWorkloadStandsUnderTheCeilingThatBindsIt) {
  // 1 MB at 10 GB/s are 100 us; 40 MFLOP at 100 GFLOP/s are 400 us.
  const auto verdict = verdict_of({timed("moves", 200, 300), timed("computes", 1600, 3000)});
  const Profile profile = profile_of(verdict, kMachine, {{"moves", 1e6, 0}, {"computes", 1e6, 40e6}, {"gone", 1, 1}});
  ASSERT_EQ(profile.positions.size(), 2u);
  const Position& moves = profile.positions[0];
  EXPECT_FALSE(moves.compute_bound);
  EXPECT_DOUBLE_EQ(moves.gb_per_s, 5);
  EXPECT_DOUBLE_EQ(moves.gflop_per_s, 0);
  EXPECT_DOUBLE_EQ(moves.bound_us, 100);
  EXPECT_DOUBLE_EQ(moves.reached, 0.5);
  const Position& computes = profile.positions[1];
  EXPECT_TRUE(computes.compute_bound);
  EXPECT_DOUBLE_EQ(computes.gflop_per_s, 25);
  EXPECT_DOUBLE_EQ(computes.bound_us, 400);
  EXPECT_DOUBLE_EQ(computes.reached, 0.25);
}

TEST(Profile, HintsNameWhatIsSlowerWhatBindsAndWhatIsUnsure) {
  const auto verdict = verdict_of({timed("moves", 1000, 300, 0.3), timed("computes", 500, 3000)});
  const Profile profile = profile_of(verdict, kMachine, {{"moves", 1e6, 0}, {"computes", 1e6, 40e6}});
  EXPECT_THAT(profile.hints, ElementsAre(HasSubstr("slower on moves than eager"),
                                         HasSubstr("moves: at 10 % of what copying memory reaches here"),
                                         HasSubstr("computes reaches 80 %, moves 10 %")));
  const auto unsure = verdict_of({timed("moves", 110, 300, 0.3)});
  EXPECT_THAT(profile_of(unsure, kMachine, {{"moves", 1e6, 0}}).hints,
              ElementsAre(HasSubstr("only moving fewer bytes would help"), HasSubstr("known to ±30 % only")));
}

TEST(Profile, LessThanTheLeastTrafficIsSaidToNeedAReason) {
  const auto verdict = verdict_of({timed("sparse", 50, 300)});
  const Profile profile = profile_of(verdict, kMachine, {{"sparse", 1e6, 0}});
  EXPECT_THAT(profile.hints, ElementsAre(HasSubstr("right if it reads only a part")));
}

TEST(Profile, WithoutCeilingsThereAreTimesAndNoPositions) {
  const auto verdict = verdict_of({timed("moves", 200, 300)});
  const Profile profile = profile_of(verdict, {}, {{"moves", 1e6, 0}});
  EXPECT_TRUE(profile.positions.empty());
  EXPECT_THAT(profile_text(verdict, profile, 1, {}), HasSubstr("200.0 us"));
}

TEST(Profile, TextHasTimesPositionsCeilingsAndHints) {
  const auto verdict = verdict_of({timed("computes", 1600, 3000)});
  const Profile profile = profile_of(verdict, kMachine, {{"computes", 1e6, 40e6}});
  EXPECT_EQ(profile_text(verdict, profile, 1, {}),
            R"(matmul · cpu, 2 cores · 1 workload · isolation full
pass   1.88x eager [1.82, 1.93]
  computes  pass   1600.0 us ±2.0 %   eager 3000.0 us ±2.0 %
    1.88x eager [1.82, 1.93]
    0.62 GB/s, 25.0 GFLOP/s: 25 % of the compute roofline (400.0 us)
ceilings measured here, 2 threads: copying 10.0 GB/s, multiply-add 100.0 GFLOP/s (fp32)
hint  computes: at 25 % of what multiply-add reaches here; look for loops that do not vectorise, missing blocking for the caches, one thread working, or let oneDNN do the product
)");
}

TEST(Profile, AFailureReadsAsAVerdict) {
  verdict::Verdict verdict = verdict_of({timed("moves", 200, 300)});
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::failed(verdict::Outcome::kWrong, "an element is wrong");
  const Profile profile = profile_of(verdict, kMachine, {});
  const std::string text = profile_text(verdict, profile, 1, {});
  EXPECT_THAT(text, HasSubstr("an element is wrong"));
  EXPECT_THAT(text, Not(HasSubstr("ceilings")));
}

TEST(Profile, JsonHoldsTheSameFigures) {
  const auto verdict = verdict_of({timed("moves", 200, 300)});
  const Json json = to_json(profile_of(verdict, kMachine, {{"moves", 1e6, 0}}));
  EXPECT_EQ(json["workloads"][0]["bound"], "memory");
  EXPECT_EQ(json["workloads"][0]["reached"], 0.5);
  EXPECT_EQ(json["hints"].size(), 1u);
}

}  // namespace
}  // namespace ww::report
