// SPDX-License-Identifier: Apache-2.0
#include "agent/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent/fake_workshop.h"
#include "agent/script_model.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Runs of a script over the fake workshop, in a run folder of their own.
class OptimizeTest : public ::testing::Test {
 protected:
  OptimizeTest() { task_.name = "t", task_.source = "# the reference\n", task_.workloads = {{}}; }

  static Json attempt(const std::string& name, const std::string& source, Json profile = Json::object()) {
    return {{"text", name},
            {"calls",
             {{{"tool", "write"}, {"arguments", {{"path", "kernels/solution.cpp"}, {"text", source}}}},
              {{"tool", "profile"}, {"arguments", profile}}}}};
  }

  Optimized run(std::vector<Json> replies) {
    replies.push_back({{"calls", {{{"tool", "finish"}}}}});
    const fs::path script = folder_.path() / "script.jsonl";
    std::ofstream file(script);
    for (const Json& reply : replies) file << reply.dump() << "\n";
    file.close();
    auto result = optimize(
        workshop_, task_, run_, [&] { return open_script(script); }, {}, nullptr, observer_);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
    return *result;
  }

  TemporaryFolder folder_{"ww-optimize-test", "/dev/shm"};
  FakeWorkshop workshop_;
  task::Task task_;
  RunFolder run_ = RunFolder::create(folder_.path() / "runs", "t");
  Observer observer_;
};

TEST_F(OptimizeTest, TheFastestAttemptWinsAndCarriesAModule) {
  std::vector<std::string> seen;
  observer_.on_attempt = [&](const Attempt& attempt) { seen.push_back(attempt.name); };
  const Optimized optimized =
      run({attempt("slow", "speed=1.5"), attempt("fast", "speed=2.5"), attempt("broken", "wrong")});
  ASSERT_TRUE(optimized.winner.has_value()) << optimized.no_winner;
  EXPECT_EQ(optimized.winner->conclusion.figures()->speedup.eager->ratio, 2.5);
  EXPECT_TRUE(optimized.winner->conclusion.figures()->speedup.compile.has_value());
  EXPECT_THAT(seen, ElementsAre("slow", "fast", "broken"));
  EXPECT_EQ(*read_file(run_.winner() / "kernels" / "solution.cpp"), "speed=2.5");
  EXPECT_EQ(*read_file(run_.winner() / "reference.py"), task_.source);
  EXPECT_THAT(*read_file(run_.winner() / "module.py"), HasSubstr(R"("task":"t","library":"solution.so")"));
  const Json result = *run_.read_result();
  EXPECT_EQ(result["winner"], run_.winner().string());
  EXPECT_EQ(result["tried"].size(), 3u);
  EXPECT_EQ(result["verdict"]["outcome"], "pass");
}

TEST_F(OptimizeTest, TheBestAttemptOfAllSamplesWins) {
  int opened = 0;
  const auto open = [&]() -> Result<std::unique_ptr<Model>> {
    const std::string source = "speed=1." + std::to_string(5 + opened++);
    const fs::path script = folder_.path() / (source + ".jsonl");
    write_file(script, attempt(source, source).dump() + "\n" + Json{{"calls", {{{"tool", "finish"}}}}}.dump() + "\n");
    return open_script(script);
  };
  const auto result = optimize(workshop_, task_, run_, open, {.limits = {}, .samples = 4}, nullptr, observer_);
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->winner.has_value()) << result->no_winner;
  EXPECT_EQ(*read_file(run_.winner() / "kernels" / "solution.cpp"), "speed=1.8");
  EXPECT_EQ(result->tried.size(), 4u);
  EXPECT_EQ(result->ends.size(), 4u);
  EXPECT_TRUE(fs::exists(run_.path() / "samples/04/episode.jsonl"));
  EXPECT_EQ(workshop_.afresh, 1);
}

TEST_F(OptimizeTest, AFaultInOneSampleIsThrownOnceAllHaveEnded) {
  int opened = 0;
  const auto open = [&]() -> Result<std::unique_ptr<Model>> {
    const fs::path script = folder_.path() / ("s" + std::to_string(opened) + ".jsonl");
    write_file(script, attempt("x", opened++ == 1 ? "fault" : "speed=2").dump() + "\n");
    return open_script(script);
  };
  EXPECT_THROW(std::ignore = optimize(workshop_, task_, run_, open, {.limits = {}, .samples = 3}, nullptr, observer_),
               Fault);
  EXPECT_EQ(workshop_.judgings, 3);
}

TEST_F(OptimizeTest, WhatIsNotFasterThanEagerDoesNotWin) {
  const Optimized optimized = run({attempt("same", "speed=1.01")});
  EXPECT_FALSE(optimized.winner.has_value());
  EXPECT_THAT(optimized.no_winner, HasSubstr("not surely faster than eager"));
  EXPECT_FALSE(fs::exists(run_.winner()));
  EXPECT_EQ((*run_.read_result())["winner"], nullptr);
}

TEST_F(OptimizeTest, WhereNothingPassesTheReasonIsTheLastOutcome) {
  EXPECT_THAT(run({attempt("broken", "wrong")}).no_winner, HasSubstr("nothing passed; last: wrong"));
}

TEST_F(OptimizeTest, AnAttemptThatFailsWhenJudgedAgainGivesWayToTheNext) {
  workshop_.lucky_once = "speed=3";
  const Optimized optimized = run({attempt("sound", "speed=2"), attempt("lucky", "speed=3")});
  ASSERT_TRUE(optimized.winner.has_value()) << optimized.no_winner;
  EXPECT_EQ(*read_file(run_.winner() / "kernels" / "solution.cpp"), "speed=2");
}

TEST_F(OptimizeTest, AModuleThatDoesNotStandInForTheReferenceDoesNotWin) {
  workshop_.module_problem = "out differs";
  const Optimized optimized = run({attempt("fast", "speed=2.5")});
  EXPECT_FALSE(optimized.winner.has_value());
  EXPECT_THAT(optimized.no_winner, HasSubstr("out differs"));
}

TEST_F(OptimizeTest, ASecondRunOnTheSameFolderJudgesOnlyTheWinnerAgain) {
  run({attempt("fast", "speed=2.5")});
  const int judgings = workshop_.judgings;
  EXPECT_TRUE(run({attempt("fast", "speed=2.5")}).winner.has_value());
  EXPECT_EQ(workshop_.judgings, judgings + 1);
}

TEST_F(OptimizeTest, ARefusedTaskIsAnError) {
  workshop_.refusal = "line 3: no Model";
  const auto result = optimize(workshop_, task_, run_, [&] { return open_script("/none"); }, {}, nullptr, {});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().text(), HasSubstr("no Model"));
}

TEST_F(OptimizeTest, WhatTheModelCannotExpressIsTheReasonForNoWinner) {
  const auto result = optimize(workshop_, task_, run_,
                               [] {
                                 return Result<std::unique_ptr<Model>>(Error{"cannot express aten.foo", ""});
                               },
                               {}, nullptr, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->no_winner, "cannot express aten.foo");
}

TEST(RunFolder, AnUnknownVersionIsRefused) {
  TemporaryFolder folder("ww-run-test");
  write_file(folder.path() / "run.json", R"({"schema":99})");
  EXPECT_THAT(RunFolder::open(folder.path()).error().text(), HasSubstr("not of version 1"));
}

}  // namespace
}  // namespace ww::agent
