// SPDX-License-Identifier: Apache-2.0
#include "agent/builtin_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/episode.h"
#include "agent/fake_workshop.h"
#include "agent/loop.h"
#include "agent/tools.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

using ::testing::ElementsAre;

writer::Candidate candidate(const std::string& name, const std::string& source) {
  return {.name = name, .files = {{"kernels/solution.cpp", source}}, .notes = "", .uses_dnnl = false};
}

class BuiltinModelTest : public ::testing::Test {
 protected:
  EpisodeEnd play(std::vector<writer::Candidate> candidates) {
    const auto model = make_builtin_model(std::move(candidates));
    Tools tools(folder_.path() / "workspace", folder_.path() / "attempts", workshop_);
    {
      Episode made = Episode::create(folder_.path() / "episode.jsonl");
      begin_episode(made, *model, "make it fast", {{"name", "t"}}, Json::object());
    }
    auto episode = Episode::open(folder_.path() / "episode.jsonl");
    const auto end = run_episode(*episode, *model, tools, {});
    const std::vector<Json> events = *Episode::read(folder_.path() / "episode.jsonl");
    for (const Json& event : events) {
      if (event["event"] == "reply") said_.push_back(event["text"]);
    }
    return *end;
  }

  fs::path workspace(const std::string& file) const { return folder_.path() / "workspace" / file; }

  TemporaryFolder folder_{"ww-builtin-test", "/dev/shm"};
  FakeWorkshop workshop_;
  std::vector<std::string> said_;
};

TEST_F(BuiltinModelTest, EveryCandidateIsTriedAndTheFastestTuned) {
  EXPECT_EQ(
      play({candidate("unfused", "speed=1.1"), candidate("rows", "speed=3"), candidate("tiles", "speed=2")}).ending,
      Ending::kFinished);
  EXPECT_THAT(said_, ElementsAre("unfused", "rows", "tiles", "rows, tuned", ""));
  EXPECT_EQ(*read_file(workspace("kernels/solution.cpp")), "speed=3");
}

TEST_F(BuiltinModelTest, WhatDoesNotPassIsPassedOver) {
  play({candidate("broken", "no code"), candidate("wrong", "wrong"), candidate("sound", "speed=1.2")});
  EXPECT_THAT(said_, ElementsAre("broken", "wrong", "sound", "sound, tuned", ""));
}

TEST_F(BuiltinModelTest, WhereNothingPassesItFinishesWithoutTuning) {
  EXPECT_EQ(play({candidate("broken", "no code")}).ending, Ending::kFinished);
  EXPECT_THAT(said_, ElementsAre("broken", ""));
}

TEST_F(BuiltinModelTest, FilesThatACandidateDoesNotHaveAreRemoved) {
  writer::Candidate two = candidate("two files", "speed=1.5");
  two.files["kernels/more.cpp"] = "int more;";
  play({two, candidate("one file", "speed=2")});
  EXPECT_TRUE(fs::exists(workspace("kernels/solution.cpp")));
  EXPECT_FALSE(fs::exists(workspace("kernels/more.cpp")));
}

}  // namespace
}  // namespace ww::agent
