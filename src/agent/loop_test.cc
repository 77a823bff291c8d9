// SPDX-License-Identifier: Apache-2.0
#include "agent/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent/episode.h"
#include "agent/fake_workshop.h"
#include "agent/replay.h"
#include "agent/script_model.h"
#include "agent/tools.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

using ::testing::HasSubstr;

Json write_call(const std::string& text) {
  return {{"tool", "write"}, {"arguments", {{"path", "kernels/solution.cpp"}, {"text", text}}}};
}

Json tool_call(const std::string& tool, Json arguments = Json::object()) {
  return {{"tool", tool}, {"arguments", std::move(arguments)}};
}

Json reply(const std::string& text, std::vector<Json> calls) { return {{"text", text}, {"calls", calls}}; }

/// A run folder with a script in it, played from the start or on from where the episode file stands.
class LoopTest : public ::testing::Test {
 protected:
  void script(const std::vector<Json>& replies) {
    std::ofstream file(folder_.path() / "script.jsonl");
    for (const Json& line : replies) file << line.dump() << "\n";
  }

  EpisodeEnd play(LoopSettings settings = {}) {
    auto model = open_script(folder_.path() / "script.jsonl");
    EXPECT_TRUE(model.ok());
    Tools tools(folder_.path() / "workspace", folder_.path() / "attempts", workshop_);
    if (!fs::exists(episode_path())) {
      Episode made = Episode::create(episode_path());
      begin_episode(made, **model, "make it fast", {{"name", "t"}}, Json::object());
    }
    auto episode = Episode::open(episode_path());
    EXPECT_TRUE(episode.ok()) << episode.error().text();
    auto end = run_episode(*episode, **model, tools, settings);
    EXPECT_TRUE(end.ok());
    return *end;
  }

  /// Events without what differs from one sitting to the next.
  std::vector<Json> events() const {
    std::vector<Json> events = *Episode::read(episode_path());
    std::erase_if(events, [](const Json& event) {
      return event["event"] == "resume" || (event["event"] == "end" && event["ending"] != "finished");
    });
    for (Json& event : events) {
      event.erase("elapsed_s");
      event.erase("took_s");
    }
    return events;
  }

  fs::path episode_path() const { return folder_.path() / "episode.jsonl"; }
  static std::string ending(const EpisodeEnd& end) { return std::string(name(end.ending)); }

  // In memory: syncing every event to a disk is most of these tests' time.
  TemporaryFolder folder_{"ww-agent-test", "/dev/shm"};
  FakeWorkshop workshop_;
};

std::vector<Json> whole_script() {
  return {reply("first", {write_call("speed=1.5"), tool_call("build"), tool_call("profile", {{"config", 0}})}),
          reply("thinking aloud", {}), reply("second", {write_call("wrong"), tool_call("verify")}),
          reply("third", {write_call("speed=2.5"), tool_call("profile", {{"compile", true}})}),
          reply("", {tool_call("finish", {{"text", "third wins"}})})};
}

TEST_F(LoopTest, AnEpisodeEndsWhenTheModelFinishes) {
  script(whole_script());
  EXPECT_EQ(ending(play()), "finished");
  EXPECT_EQ(workshop_.judgings, 3);
  EXPECT_TRUE(fs::exists(folder_.path() / "attempts" / "003" / "kernels" / "solution.cpp"));
  const auto verdict = verdict::from_json(events()[4]["data"]["verdict"]);
  ASSERT_TRUE(verdict.ok()) << verdict.error().text();
  EXPECT_EQ(verdict->workloads[0].config, 0);
}

TEST_F(LoopTest, ResumingFromAnyPointGivesTheSameEpisodeAsOneSitting) {
  script(whole_script());
  play();
  const std::vector<Json> uninterrupted = events();
  const std::string bytes = *read_file(episode_path());
  const size_t first_line = bytes.find('\n') + 1;
  int resumed = 0;
  for (size_t line = first_line; line < bytes.size(); line = bytes.find('\n', line) + 1) {
    for (const size_t cut : {line, line + 7}) {  // after a whole line, and with a torn one
      write_file(episode_path(), bytes.substr(0, cut));
      fs::remove_all(folder_.path() / "workspace");
      EXPECT_EQ(ending(play()), "finished");
      EXPECT_EQ(events(), uninterrupted) << "cut at byte " << cut;
      EXPECT_EQ(*read_file(folder_.path() / "workspace" / "kernels" / "solution.cpp"), "speed=2.5");
      resumed++;
    }
  }
  EXPECT_GT(resumed, 20);
}

TEST_F(LoopTest, AnEpisodeThatEndedForGoodIsLeftAsItIs) {
  script(whole_script());
  play();
  const std::string before = *read_file(episode_path());
  EXPECT_EQ(ending(play()), "finished");
  EXPECT_EQ(*read_file(episode_path()), before);
}

TEST_F(LoopTest, AReplaySaysWhereSomethingElseComesOfACall) {
  script(whole_script());
  play();
  const std::vector<Json> played = *Episode::read(episode_path());
  Tools same(folder_.path() / "same", folder_.path() / "attempts2", workshop_);
  EXPECT_EQ(replay_episode(played, same, {}), 0);
  FakeWorkshop unlucky;
  unlucky.lucky_once = "speed=2.5";
  Tools other(folder_.path() / "other", folder_.path() / "attempts3", unlucky);
  replay_episode(played, other, {});
  other.begin_again();
  std::vector<std::string> found;
  EXPECT_EQ(replay_episode(played, other,
                           [&](const Replayed& call) {
                             if (!call.same()) found.push_back(call.tool + " " + call.before + " " + call.after);
                           }),
            1);
  EXPECT_EQ(found, std::vector<std::string>{"profile pass wrong"});
}

TEST_F(LoopTest, TheTurnLimitEndsTheEpisode) {
  script(whole_script());
  EXPECT_EQ(ending(play({.limits = {.turns = 2}})), "turn_limit");
}

TEST_F(LoopTest, TheTimeLimitEndsTheEpisode) {
  script(whole_script());
  EXPECT_EQ(ending(play({.limits = {.wall = seconds(-1)}})), "time_limit");
}

TEST_F(LoopTest, AModelWithoutAnAnswerEndsTheEpisodeAndCanBeResumed) {
  script({whole_script()[0]});
  const EpisodeEnd end = play();
  EXPECT_EQ(ending(end), "model_error");
  EXPECT_THAT(end.reason, HasSubstr("no further reply"));
  script(whole_script());
  EXPECT_EQ(ending(play()), "finished");
}

TEST_F(LoopTest, AnInterruptBetweenToolCallsKeepsWhatWasDone) {
  script(whole_script());
  std::atomic<bool> interrupted = false;
  LoopSettings settings;
  settings.interrupted = &interrupted;
  settings.on_event = [&](const Json& event, const Spend&) { interrupted = interrupted || event["event"] == "tool"; };
  EXPECT_EQ(ending(play(settings)), "interrupted");
  EXPECT_EQ(ending(play()), "finished");
  EXPECT_EQ(workshop_.judgings, 3);
}

TEST_F(LoopTest, AnInterruptDuringAJudgingIsAnEnding) {
  script({reply("", {write_call("interrupt"), tool_call("profile")})});
  EXPECT_EQ(ending(play()), "interrupted");
}

TEST_F(LoopTest, AFaultIsRecordedAndThrownOn) {
  script({reply("", {write_call("fault"), tool_call("profile")})});
  EXPECT_THROW(play(), Fault);
  const auto events = *Episode::read(episode_path());
  EXPECT_EQ(events.back()["ending"], "fault");
  EXPECT_EQ(events.back()["reason"], "the disk is full");
}

TEST_F(LoopTest, AnEpisodeHasOneWriterAtATime) {
  script(whole_script());
  play();
  const auto first = Episode::open(episode_path());
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(Episode::open(episode_path()).error().text(), HasSubstr("another process"));
}

TEST_F(LoopTest, AFileThatIsNoEpisodeIsRefusedByLine) {
  script(whole_script());
  play();
  const std::string bytes = *read_file(episode_path());
  write_file(episode_path(), "{\"event\":\"start\"}\n");
  EXPECT_THAT(Episode::open(episode_path()).error().text(), HasSubstr("episode.jsonl:1"));
  const size_t second = bytes.find('\n') + 1;
  write_file(episode_path(), bytes.substr(0, second) + "garbage\n" + bytes.substr(second));
  EXPECT_THAT(Episode::open(episode_path()).error().text(), HasSubstr("episode.jsonl:2"));
}

TEST(ScriptModel, RefusesABadLineByItsNumber) {
  TemporaryFolder folder("ww-script-test");
  const fs::path path = folder.path() / "s.jsonl";
  write_file(path, "{\"text\":\"a\"}\n{\"txt\":\"b\"}\n");
  EXPECT_THAT(open_script(path).error().text(), HasSubstr("s.jsonl:2: \"txt\" is unknown"));
}

}  // namespace
}  // namespace ww::agent
