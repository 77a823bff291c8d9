// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace ww::report {
namespace {

using verdict::Outcome;
using verdict::Verdict;

verdict::SideTime side(double time_us) {
  return {.statistic = "p25",
          .time_us = time_us,
          .low_us = time_us * 0.99,
          .high_us = time_us * 1.02,
          .base_us = 20,
          .error_us = 2,
          .samples = 100,
          .discarded = 0};
}

verdict::WorkloadVerdict workload(const std::string& name, double solution_us) {
  const verdict::Times times{
      .solution = side(solution_us), .eager = side(1000), .compile = side(15'000), .compile_max = {}};
  const double eager = 1000 / solution_us, compile = 15'000 / solution_us;
  verdict::WorkloadVerdict made;
  made.name = name;
  made.config = 2;
  made.conclusion = verdict::Conclusion<verdict::WorkloadTiming>::pass(
      verdict::WorkloadTiming{.times = times,
                              .speedup = {.eager = verdict::Ratio{eager, eager * 0.98, eager * 1.02},
                                          .compile = verdict::Ratio{compile, compile * 0.98, compile * 1.02}},
                              .prepare_us = {}});
  return made;
}

Verdict facts() {
  Verdict verdict;
  verdict.task = {.name = "gelu_layernorm", .id = ""};
  verdict.device = {.name = "cpu", .model = "", .features = "AVX-512", .cores = 2, .threads = 2, .other = {}};
  verdict.contract = R"({"precision":"fp32"})";
  verdict.isolation = {.level = "full", .layers = {}, .missing = {}};
  return verdict;
}

Verdict passing() {
  Verdict verdict = facts();
  verdict.workloads = {workload("small", 400), workload("wide", 500)};
  verdict.trials = {.checked = 430, .timed = 412, .honey = 9, .worst_error = 0.3, .first_failure = {}};
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::pass(verdict::Timing{
      .times = {.solution = side(900), .eager = side(2000), .compile = {}, .compile_max = {}},
      .speedup = {.eager = verdict::Ratio{2.58, 2.53, 2.62}, .compile = verdict::Ratio{1.41, 1.38, 1.44}}});
  return verdict;
}

TEST(VerdictText, APassShowsTimesAndWhyToBelieveThem) {
  EXPECT_EQ(verdict_text(passing(), 2, {}),
            R"(gelu_layernorm · cpu, 2 cores, AVX-512 · fp32 · 2 workloads · isolation full
pass   2.58x eager [2.53, 2.62]   1.41x compile [1.38, 1.44]
  small  pass  config 2  400.0 us ±2.0 %   eager 1000.0 us ±2.0 %   compile 15.00 ms ±2.0 %   2.50x eager [2.45, 2.55]   37.50x compile [36.75, 38.25]
  wide   pass  config 2  500.0 us ±2.0 %   eager 1000.0 us ±2.0 %   compile 15.00 ms ±2.0 %   2.00x eager [1.96, 2.04]   30.00x compile [29.40, 30.60]
why believe it: 412 calls timed, 430 checked on fresh data; worst error 0.3 of what is allowed;
  outside clock known within 0.5 %; no straw solution passes this task; 9 honey rounds clean.
)");
}

TEST(VerdictText, AWrongSolutionShowsTheFirstWrongElement) {
  Verdict verdict = facts();
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::failed(Outcome::kWrong, "out differs");
  verdict.workloads = {
      {.name = "small",
       .inputs = {},
       .outputs = {},
       .conclusion = verdict::Conclusion<verdict::WorkloadTiming>::failed(Outcome::kWrong, "out differs"),
       .config = {},
       .bound_us = {},
       .trials = {}}};
  verdict.trials.first_failure = verdict::Failure{.workload = "small",
                                                  .output = "out",
                                                  .pattern = "nudge",
                                                  .trial = 2,
                                                  .index = {3, 4},
                                                  .expected = 1.5,
                                                  .got = -2,
                                                  .error = 120,
                                                  .input_seed = 7,
                                                  .weight_seed = 8};
  verdict.evidence = {{verdict::EvidenceKind::kHoneyFailed, "stale in a honey round", {}}};
  EXPECT_EQ(verdict_text(verdict, 3, {}),
            R"(gelu_layernorm · cpu, 2 cores, AVX-512 · fp32 · 3 workloads · isolation full
wrong   out differs
  small  wrong  out differs
  first wrong element: out[3, 4] of workload small: expected 1.5, got -2 (120 times what is allowed; inputs drawn as "nudge", input seed 7, weight seed 8)
  honey_failed: stale in a honey round
)");
}

TEST(VerdictText, CompilerOutputIsIndentedUnderItsKind) {
  Verdict verdict = facts();
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::failed(Outcome::kBuildError, "does not compile\nmore");
  verdict.evidence = {{verdict::EvidenceKind::kCompiler, "a.cpp:1: error\n  int x\n", {}}};
  EXPECT_EQ(verdict_text(verdict, 3, {}),
            R"(gelu_layernorm · cpu, 2 cores, AVX-512 · fp32 · 3 workloads · isolation full
build_error   does not compile
  compiler:
    a.cpp:1: error
      int x
)");
}

TEST(VerdictText, MissingLayersAndWeakTasksAreSaidInTheReasonsToBelieve) {
  Verdict verdict = passing();
  verdict.isolation = {.level = "partial", .layers = {}, .missing = {"landlock: kernel without it"}};
  verdict.weak_task = {"zeros on small"};
  const std::string text = belief(verdict);
  EXPECT_NE(text.find("but 1 straw solution passes this weak task"), std::string::npos) << text;
  EXPECT_NE(text.find("isolation is partial: landlock: kernel without it"), std::string::npos) << text;
}

TEST(VerdictText, ColorIsUsedOnlyWhereAskedFor) {
  EXPECT_EQ(summary(passing(), {}).find('\033'), std::string::npos);
  EXPECT_EQ(summary(passing(), {.color = true}).substr(0, 13), "\033[32mpass\033[0m");
}

TEST(OptimizeText, AttemptsAreNumberedAndAligned) {
  EXPECT_EQ(attempt_line(2, "fused rows", passing(), {}),
            "  2  fused rows                    pass   2.58x eager [2.53, 2.62]   1.41x compile [1.38, 1.44]\n");
}

TEST(OptimizeText, TheWinnerSaysWhereItLiesAndHowToUseIt) {
  EXPECT_EQ(winner_text({"runs/g-7f3a/winner", passing()}, {}),
            R"(winner  runs/g-7f3a/winner   2.58x eager [2.53, 2.62]   1.41x compile [1.38, 1.44]
why believe it: 412 calls timed, 430 checked on fresh data; worst error 0.3 of what is allowed;
  outside clock known within 0.5 %; no straw solution passes this task; 9 honey rounds clean.
Use it: from runs/g-7f3a/winner/module.py import ModelNew
)");
}

TEST(AdmissionText, SaysWhyATaskIsRefusedOrWeak) {
  EXPECT_EQ(
      admission_text({.task = "a", .admitted = true, .workloads = 3, .problems = {}, .weak = {}, .skipped = {}}, {}),
      "a                             ok   3 workloads, no straw solution passes\n");
  EXPECT_EQ(
      admission_text(
          {.task = "b", .admitted = true, .workloads = 1, .problems = {}, .weak = {"zeros on small"}, .skipped = {}},
          {}),
      "b                             weak   1 workload\n    passes though it is wrong: zeros on small\n");
  EXPECT_EQ(
      admission_text(
          {.task = "c", .admitted = false, .workloads = 1, .problems = {"c.py:3: no Model"}, .weak = {}, .skipped = {}},
          {}),
      "c                             refused\n    c.py:3: no Model\n");
}

TEST(FactsText, NestsAndAligns) {
  const Json facts =
      parse_own_json(R"({"isolation":"full","device":{"cores":2,"model":"x"},"missing":["a","b"],"none":[]})");
  EXPECT_EQ(facts_text(facts, {}), R"(isolation  full
device
  cores  2
  model  x
missing    a
           b
none       none
)");
}

}  // namespace
}  // namespace ww::report
