// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/files.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/progress.h"

namespace ww::cli {
namespace {

using ::testing::HasSubstr;

Said said(const std::vector<std::string>& arguments) {
  const auto parsed = parse_command_line(arguments);
  const auto* words = std::get_if<Said>(&parsed);
  return words ? *words : Said{-1, "a verb was run"};
}

bool runs(const std::vector<std::string>& arguments) {
  return std::holds_alternative<Verb>(parse_command_line(arguments));
}

TEST(CommandLine, WithoutArgumentsItTeachesAndIsAUsageError) {
  EXPECT_EQ(said({}).exit_code, kExitBadInput);
  EXPECT_THAT(said({}).text, HasSubstr("ww optimize tasks/gelu_layernorm"));
}

TEST(CommandLine, HelpOfEveryVerbIsASuccess) {
  for (const char* verb : {"doctor", "tasks", "build", "judge", "verify", "profile", "optimize", "episodes", "test"}) {
    EXPECT_EQ(said({verb, "--help"}).exit_code, kExitPass) << verb;
    EXPECT_THAT(said({verb, "--help"}).text, HasSubstr("--help")) << verb;
  }
  EXPECT_THAT(said({"judge", "--help"}).text, HasSubstr("ww judge --reward milestone < requests.jsonl"));
}

TEST(CommandLine, AMisspeltVerbOrFlagIsAnsweredWithTheNearestOne) {
  EXPECT_EQ(said({"optimise", "x"}).exit_code, kExitBadInput);
  EXPECT_THAT(said({"optimise", "x"}).text, HasSubstr("unknown verb optimise; did you mean 'optimize'?"));
  EXPECT_THAT(said({"tasks", "chek"}).text, HasSubstr("unknown verb chek; did you mean 'check'?"));
  EXPECT_THAT(said({"judge", "t", "s", "--basline=eager"}).text, HasSubstr("did you mean '--baseline'?"));
}

TEST(CommandLine, WhatIsMissingOrOutOfRangeIsAUsageError) {
  EXPECT_THAT(said({"verify"}).text, HasSubstr("verify needs TASK and SOLUTION"));
  EXPECT_THAT(said({"judge", "t"}).text, HasSubstr("needs a SOLUTION"));
  EXPECT_THAT(said({"optimize"}).text, HasSubstr("either a TASK or --resume RUN"));
  EXPECT_THAT(said({"optimize", "t", "--resume", "r"}).text, HasSubstr("either a TASK or --resume RUN"));
  EXPECT_THAT(said({"optimize", "t", "--model", "gpt"}).text, HasSubstr("builtin and script:FILE"));
  EXPECT_EQ(said({"judge", "t", "s", "--baseline", "jit"}).exit_code, kExitBadInput);
  EXPECT_EQ(said({"judge", "t", "s", "--device", "tpu"}).exit_code, kExitBadInput);
  EXPECT_EQ(said({"judge", "t", "s", "--time-cap", "-1"}).exit_code, kExitBadInput);
  EXPECT_EQ(said({"judge", "t", "s", "--config", "x"}).exit_code, kExitBadInput);
  EXPECT_EQ(said({"tasks"}).exit_code, kExitBadInput);
}

TEST(CommandLine, ABudgetNamesItsParts) {
  EXPECT_TRUE(runs({"optimize", "t", "--budget", "turns=3,tokens=5000,time=60,cost=0.5", "--samples", "4"}));
  EXPECT_THAT(said({"optimize", "t", "--budget", "money=3"}).text, HasSubstr("money=3: is no part of a budget"));
  EXPECT_THAT(said({"optimize", "t", "--budget", "turns=1.5"}).text, HasSubstr("turns=1.5: must be a whole number"));
  EXPECT_THAT(said({"optimize", "t", "--budget", "cost=nan"}).text, HasSubstr("cost=nan: must be a number"));
  EXPECT_THAT(said({"optimize", "t", "--budget", "time"}).text, HasSubstr("time: must be a number"));
}

TEST(CommandLine, GoodCommandsRunAVerb) {
  EXPECT_TRUE(runs({"doctor", "--json"}));
  EXPECT_TRUE(runs({"tasks", "list"}));
  EXPECT_TRUE(runs({"tasks", "check", "a", "b"}));
  EXPECT_TRUE(runs({"judge"}));
  EXPECT_TRUE(runs({"judge", "t", "s1", "s2", "--baseline", "eager,compile", "--reward", "speedup", "--json"}));
  EXPECT_TRUE(runs({"profile", "t", "s", "--config", "3"}));
  EXPECT_TRUE(runs({"optimize", "t", "--model", "script:x.jsonl", "--turns", "3", "--yes"}));
  EXPECT_TRUE(runs({"optimize", "--resume", "runs/x"}));
  EXPECT_TRUE(runs({"test", "--attacks", "--filter", "clock"}));
}

/// Every "--flag" in a text.
std::set<std::string> flags_in(const std::string& text) {
  std::set<std::string> flags;
  const std::regex flag("--[a-z][a-z-]*");
  for (std::sregex_iterator match(text.begin(), text.end(), flag), end; match != end; ++match)
    flags.insert(match->str());
  flags.erase("--help");
  return flags;
}

TEST(CommandLine, HelpAndDocumentationNameTheSameFlags) {
  const std::vector<std::pair<std::string, std::vector<std::vector<std::string>>>> pages = {
      {"doctor", {{"doctor"}}},     {"tasks", {{"tasks", "list"}, {"tasks", "check"}}},
      {"build", {{"build"}}},       {"judge", {{"judge"}, {"verify"}, {"profile"}}},
      {"optimize", {{"optimize"}}}, {"episodes", {{"episodes", "list"}, {"episodes", "show"}, {"episodes", "export"}}},
      {"test", {{"test"}}}};
  for (const auto& [page, verbs] : pages) {
    std::set<std::string> helped;
    for (std::vector<std::string> verb : verbs) {
      verb.push_back("--help");
      helped.merge(flags_in(said(verb).text));
    }
    EXPECT_EQ(flags_in(*read_file(fs::path(WW_DOCS) / "cli" / (page + ".md"))), helped) << page;
  }
}

TEST(Progress, SaysWhatHowFarAndHowLong) {
  EXPECT_EQ(progress_text("softmax", {.stage = "timing wide", .done = 0.4, .left = seconds(12)}),
            "softmax · timing wide · 40 % · 12 s left");
  EXPECT_EQ(progress_text("", {.stage = "building"}), "building");
  EXPECT_EQ(progress_text("", {.stage = "starting torch", .taken = seconds(3)}), "starting torch · 3 s so far");
  EXPECT_EQ(progress_text("a.py", {.stage = "running the reference", .left = seconds(9), .at_most = true}),
            "a.py · running the reference · at most 9 s left");
}

}  // namespace
}  // namespace ww::cli
