// SPDX-License-Identifier: Apache-2.0
#include "verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json.h"
#include "verdict/names.h"

namespace ww::verdict {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SideTime side(double time_us) {
  return {.statistic = "p10",
          .time_us = time_us,
          .low_us = time_us * 0.99,
          .high_us = time_us * 1.02,
          .base_us = 21.5,
          .error_us = 3.25,
          .samples = 48,
          .discarded = 1};
}

Verdict passing() {
  Verdict verdict;
  const Speedup speedup{Ratio{2.0, 1.9, 2.1}, std::nullopt};
  WorkloadVerdict workload;
  workload.name = "wide";
  workload.inputs = {{"x", task::DType::kFloat32, {8, 1024}}, {"scale", task::DType::kFloat64, {}, false, true}};
  workload.outputs = {{"out", task::DType::kFloat32, {8, 1024}}};
  workload.conclusion = Conclusion<WorkloadTiming>::pass(
      WorkloadTiming{{side(100), side(200), std::nullopt, std::nullopt}, speedup, 12.5});
  workload.config = 2;
  workload.bound_us = 40;
  workload.trials = {.checked = 60, .timed = 48, .honey = 9, .worst_error = 0.25, .first_failure = std::nullopt};
  verdict.conclusion = Conclusion<Timing>::pass(Timing{{side(100), side(200), std::nullopt, std::nullopt}, speedup});
  verdict.task = {"gelu_layernorm", "ab12"};
  verdict.solution = {"winner", "native", "cd34"};
  verdict.artifact =
      ArtifactFacts{.id = "ef", .bytes = 16000, .compile_s = 0.6, .cached = true, .needs = {"libc.so.6"}};
  verdict.judge = {.version = "0.1.0", .torch = "2.11.0", .statistic = "p10", .time_cap_s = 2};
  verdict.device = {.name = "cpu",
                    .model = "EPYC",
                    .features = "AVX-512",
                    .cores = 2,
                    .threads = 2,
                    .other = {{"omp_wait_policy", "passive"}}};
  verdict.contract = R"({"precision":"fp32"})";
  verdict.isolation = {"partial", {"seccomp"}, {"landlock: kernel without it"}};
  verdict.weak_task = {"zeros (wide)"};
  verdict.workloads = {workload};
  verdict.trials = total(verdict.workloads);
  verdict.evidence = {{EvidenceKind::kRejudged, "judged twice", {{"excess_us", 1.5}}}};
  verdict.elapsed_s = 4.5;
  return verdict;
}

Verdict wrong() {
  Verdict verdict = passing();
  Failure failure{.workload = "wide",
                  .output = "out",
                  .pattern = "large",
                  .trial = 3,
                  .index = {0, 17},
                  .expected = 1.5,
                  .got = std::numeric_limits<double>::infinity(),
                  .error = std::numeric_limits<double>::infinity(),
                  .input_seed = 0xfedcba9876543210,
                  .weight_seed = 7};
  verdict.conclusion = Conclusion<Timing>::failed(Outcome::kWrong, "out[0, 17] is inf, expected 1.5");
  verdict.workloads[0].conclusion = Conclusion<WorkloadTiming>::failed(Outcome::kWrong, "out[0, 17]");
  verdict.workloads[0].trials.first_failure = failure;
  verdict.trials = total(verdict.workloads);
  verdict.artifact.reset();
  return verdict;
}

std::string refusal(const Json& json) {
  const Result<Verdict> result = from_json(json);
  return result.ok() ? "accepted" : result.error().text();
}

Json reread(const Json& json) { return *parse_json(json.dump(), "test"); }

TEST(Verdict, HasExactlyThePromisedTopLevelKeys) {
  std::vector<std::string> keys;
  const Json json = to_json(passing());
  for (const auto& [key, unused] : json.items()) keys.push_back(key);
  EXPECT_THAT(
      keys, ElementsAre("schema", "outcome", "reason", "task", "solution", "artifact", "judge", "device", "contract",
                        "isolation", "weak_task", "workloads", "times", "speedup", "trials", "evidence", "elapsed_s"));
}

TEST(Verdict, SurvivesTheRoundTripThroughText) {
  for (const Verdict& verdict : {passing(), wrong(), Verdict{}}) {
    const Result<Verdict> again = from_json(reread(to_json(verdict)));
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_TRUE(*again == verdict) << to_json(*again).dump(1);
  }
}

TEST(Verdict, KeepsNotANumberInTheRoundTrip) {
  Verdict verdict = wrong();
  verdict.trials.first_failure->expected = std::nan("");
  const Result<Verdict> again = from_json(reread(to_json(verdict)));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(std::isnan(again->trials.first_failure->expected));
}

TEST(Verdict, PassWithoutTimingHasNullTimes) {
  Verdict verdict = passing();
  verdict.conclusion = Conclusion<Timing>::pass(std::nullopt);
  verdict.workloads[0].conclusion = Conclusion<WorkloadTiming>::pass(std::nullopt);
  const Json json = to_json(verdict);
  EXPECT_TRUE(json["times"].is_null());
  EXPECT_TRUE(json["workloads"][0]["speedup"].is_null());
  EXPECT_TRUE(from_json(json).ok()) << refusal(json);
}

TEST(Verdict, StartsAsNoVerdict) { EXPECT_EQ(Verdict{}.outcome(), Outcome::kNoVerdict); }

TEST(VerdictDeathTest, AFailureIsNeverAPassAndAlwaysHasAReason) {
  EXPECT_DEATH(Conclusion<Timing>::failed(Outcome::kPass, "why"), "not a failure");
  EXPECT_DEATH(Conclusion<Timing>::failed(Outcome::kWrong, ""), "has a reason");
}

TEST(FromJson, RefusesUnknownSchemas) {
  Json json = to_json(passing());
  json["schema"] = 2;
  EXPECT_THAT(refusal(json), HasSubstr("unknown schema"));
  json.erase("schema");
  EXPECT_THAT(refusal(json), HasSubstr("unknown schema"));
  EXPECT_THAT(refusal(Json::array()), HasSubstr("JSON object"));
}

TEST(FromJson, RefusesTimesWithoutAPass) {
  Json json = to_json(passing());
  json["outcome"] = "wrong";
  json["reason"] = "why";
  EXPECT_THAT(refusal(json), HasSubstr("times: without a pass"));
}

TEST(FromJson, NamesMissingUnknownAndMistypedKeys) {
  Json json = to_json(passing());
  json["workloads"][0].erase("config");
  EXPECT_EQ(refusal(json), "workloads[0].config: is missing");
  json = to_json(passing());
  json["judge"]["colour"] = 1;
  EXPECT_EQ(refusal(json), "judge.colour: is not a known key");
  json = to_json(passing());
  json["times"]["solution"]["samples"] = 1.5;
  EXPECT_THAT(refusal(json), HasSubstr("times.solution.samples: is not a whole number"));
}

TEST(FromJson, RefusesUnknownWordsAndDisorderedIntervals) {
  Json json = to_json(passing());
  json["outcome"] = "excellent";
  EXPECT_THAT(refusal(json), HasSubstr("not an outcome"));
  json = to_json(passing());
  json["evidence"][0]["kind"] = "rumour";
  EXPECT_THAT(refusal(json), HasSubstr("evidence[0].kind"));
  json = to_json(passing());
  json["speedup"]["eager"]["low"] = 3;
  EXPECT_THAT(refusal(json), HasSubstr("speedup.eager.ratio"));
  json = to_json(passing());
  json["times"]["solution"]["high_us"] = 1;
  EXPECT_THAT(refusal(json), HasSubstr("times.solution.time_us"));
}

TEST(Names, AreDistinctAndFoundAgain) {
  for (const auto& [outcome, text] : kOutcomeNames) EXPECT_EQ(outcome_from_name(text), outcome);
  for (const auto& [kind, text] : kEvidenceNames) EXPECT_EQ(evidence_kind_from_name(text), kind);
  EXPECT_FALSE(outcome_from_name("Pass"));
}

TEST(Total, SumsCountsAndKeepsTheWorstAndTheFirst) {
  std::vector<WorkloadVerdict> workloads(2);
  workloads[0].trials = {.checked = 3, .timed = 2, .honey = 1, .worst_error = 0.5, .first_failure = std::nullopt};
  workloads[1].trials = {.checked = 4, .timed = 3, .honey = 2, .worst_error = 1.5, .first_failure = Failure{}};
  workloads[1].trials.first_failure->workload = "b";
  const Trials sum = total(workloads);
  EXPECT_EQ(sum.checked, 7);
  EXPECT_EQ(sum.timed, 5);
  EXPECT_EQ(sum.honey, 3);
  EXPECT_EQ(sum.worst_error, 1.5);
  EXPECT_EQ(sum.first_failure->workload, "b");
}

}  // namespace
}  // namespace ww::verdict
