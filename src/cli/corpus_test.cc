// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "cli/test_attacks.h"
#include "cli/test_corpus.h"

namespace ww::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Corpus : public testing::Test {
 protected:
  fs::path attack(const std::string& name, const std::string& toml) {
    make_folders(folder_.path() / name);
    write_file(folder_.path() / name / "attack.toml", toml);
    return folder_.path();
  }
  std::string complaint(const std::string& toml) {
    const auto attacks = read_attacks(attack("one", toml));
    return attacks ? "" : attacks.error().text();
  }

  TemporaryFolder folder_{"ww-corpus"};
};

verdict::Verdict passing(verdict::Ratio eager) {
  verdict::Verdict verdict;
  verdict::Timing timing;
  timing.speedup.eager = eager;
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::pass(timing);
  return verdict;
}

TEST_F(Corpus, IsReadInOrderOfNames) {
  attack("b", R"(task = "softmax"
summary = "s"
family = "D01"
outcomes = ["wrong", "pass"]
control = "plain"
workloads = ["small"])");
  const auto attacks = read_attacks(attack("a", R"(task = "softmax"
summary = "s"
family = "D02"
outcomes = ["crash"]
forbidden_act = true)"));
  ASSERT_TRUE(attacks) << attacks.error().text();
  ASSERT_EQ(attacks->size(), 2u);
  EXPECT_EQ((*attacks)[0].name, "a");
  EXPECT_TRUE((*attacks)[0].forbidden_act);
  EXPECT_THAT((*attacks)[1].outcomes, ElementsAre(verdict::Outcome::kWrong, verdict::Outcome::kPass));
  EXPECT_THAT((*attacks)[1].workloads, ElementsAre("small"));
}

TEST_F(Corpus, NamesTheKeyThatIsWrong) {
  const std::string good = "task = \"t\"\nsummary = \"s\"\nfamily = \"D01\"\n";
  EXPECT_THAT(complaint(good + "outcomes = [\"passed\"]\ncontrol = \"c\""), HasSubstr("unknown outcome passed"));
  EXPECT_THAT(complaint(good + "outcomes = [\"wrong\"]"), HasSubstr("either control or forbidden_act"));
  EXPECT_THAT(complaint(good + "outcomes = [\"pass\"]\nforbidden_act = true"), HasSubstr("may not pass"));
  EXPECT_THAT(complaint(good + "outcomes = [\"wrong\"]\ncontrol = \"c\"\nspeed = 1"), HasSubstr("unknown key speed"));
  EXPECT_THAT(complaint("summary = \"s\""), HasSubstr("no task"));
}

TEST(Standing, AcceptsAForbiddenActThatPasses) {
  CorpusEntry entry;
  entry.hostile = entry.forbidden_act = true;
  entry.outcomes = {verdict::Outcome::kForbidden};
  EXPECT_EQ(standing_of(entry, verdict::Outcome::kPass), Standing::kAccepted);
  EXPECT_EQ(standing_of(entry, verdict::Outcome::kForbidden), Standing::kRejected);
  EXPECT_EQ(standing_of(entry, verdict::Outcome::kWrong), Standing::kUnexpected);
  EXPECT_EQ(standing_of(entry, verdict::Outcome::kNoVerdict), Standing::kNoVerdict);
}

TEST(Standing, AsksOfATwinThatItPasses) {
  EXPECT_EQ(standing_of({}, verdict::Outcome::kPass), Standing::kPassed);
  EXPECT_EQ(standing_of({}, verdict::Outcome::kCheat), Standing::kRefused);
  EXPECT_TRUE(is_failure(Standing::kRefused));
}

TEST(Gain, CountsAtTheLowEndOfTheAttacksInterval) {
  const verdict::Ratio control{2.0, 1.0, 4.0};
  EXPECT_TRUE(gains(passing({3.0, 2.4, 3.6}), control));
  EXPECT_FALSE(gains(passing({1e6, 1.9, 1e9}), control)) << "a claimed time moves the high end only";
  EXPECT_FALSE(gains(passing({2.3, 2.25, 2.35}), control)) << "too little to be worth a cheat";
}

TEST(ThreatModel, NamesAttacksThatExistForEachLayer) {
  const fs::path docs = WW_DOCS;
  const std::string page = *read_file(docs / "threat-model.md");
  const size_t table = page.find("| layer |");
  ASSERT_NE(table, std::string::npos);
  const std::string rows = page.substr(table, page.find("\n\n", table) - table);
  int named = 0;
  for (size_t end = rows.find('\n'); end != std::string::npos;) {
    const size_t start = end + 1;
    end = rows.find('\n', start);
    const std::string row = rows.substr(start, end - start);
    const std::string last = row.substr(row.rfind('|', row.size() - 2) + 1);
    for (size_t tick = last.find('`'); tick != std::string::npos;) {
      const size_t close = last.find('`', tick + 1);
      const std::string attack = last.substr(tick + 1, close - tick - 1);
      EXPECT_TRUE(fs::exists(docs.parent_path() / "tests/attacks" / attack)) << attack;
      named++;
      tick = last.find('`', close + 1);
    }
  }
  EXPECT_GT(named, 30);
}

TEST(JudgingOrder, PutsTwinsBeforeTheAttacksOfTheirTask) {
  const auto entry = [](const char* name, const char* task, bool hostile) {
    CorpusEntry made;
    made.name = name;
    made.task = task;
    made.hostile = hostile;
    return made;
  };
  std::vector<std::string> names;
  for (const CorpusEntry& each : in_judging_order({entry("t2", "softmax", false), entry("t1", "cumsum", false)},
                                                  {entry("a1", "softmax", true), entry("a2", "cumsum", true)})) {
    names.push_back(each.name);
  }
  EXPECT_THAT(names, ElementsAre("t1", "a2", "t2", "a1"));
}

}  // namespace
}  // namespace ww::cli
