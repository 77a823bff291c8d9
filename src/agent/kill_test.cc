// SPDX-License-Identifier: Apache-2.0
//
// An episode whose process is killed at moments drawn at random, over and over, goes on each time and ends as if
// nothing had happened. Repeat it with --gtest_repeat=20 for two hundred kills.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/episode.h"
#include "agent/fake_model.h"
#include "agent/fake_workshop.h"
#include "agent/loop.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr int kTurns = 14;
constexpr int kKills = 10;

/// The replies of a long script; which one is due follows from the history, as with every model.
class Script : public Model {
 public:
  std::string name() const override { return "script"; }
  Answer answer(const std::vector<Message>& history, const std::vector<ToolSpec>&) override {
    int turn = 0;
    for (const Message& message : history) turn += message.role == Role::kModel ? 1 : 0;
    const auto call = [&](const char* tool, const Json& arguments) {
      return ToolCall{"c" + std::to_string(turn), tool, arguments.dump()};
    };
    if (turn == kTurns) return Reply{.text = "", .calls = {call("finish", Json::object())}};
    Reply reply{.text = "try " + std::to_string(turn)};
    const std::string source = "speed=1." + std::to_string(turn);
    reply.calls = {call("write", {{"path", "kernels/solution.cpp"}, {"text", source}}),
                   call("edit", {{"path", "kernels/solution.cpp"}, {"old", "speed"}, {"new", "// speed"}}),
                   call("todo", {{"items", {{{"text", source}, {"state", "doing"}}}}}),
                   call(turn % 3 == 0 ? "profile" : "verify", Json::object())};
    return reply;
  }
};

class KillTest : public ::testing::Test {
 protected:
  /// Plays on from where the file stands, and writes a byte to `events` (if valid) for each event in the file.
  static EpisodeEnd play(const fs::path& folder, int events) {
    FakeWorkshop workshop;
    Script model;
    Tools tools(folder / "workspace", folder / "attempts", workshop);
    if (!fs::exists(folder / "episode.jsonl")) Episode::create(folder / "episode.jsonl");
    auto episode = Episode::open(folder / "episode.jsonl");
    if (!episode) throw Fault(Fault::Kind::kProtocol, episode.error().text());
    if (episode->events().empty()) begin_episode(*episode, model, "go", {{"name", "t"}}, Json::object());
    LoopSettings settings;
    settings.on_event = [&](const Json&, const Spend&) {
      if (events >= 0 && ::write(events, "e", 1) != 1) ::_exit(1);
    };
    return *run_episode(*episode, model, tools, settings);
  }

  /// None where the file was not made yet.
  static std::vector<Json> events_of(const fs::path& folder) {
    if (!fs::exists(folder / "episode.jsonl")) return {};
    return *Episode::read(folder / "episode.jsonl");
  }

  /// Plays in a child that is killed some microseconds after its `target`th event. Returns the events it said it had
  /// written.
  static size_t play_and_kill(const fs::path& folder, int target, uint64_t pause_us) {
    Pipe pipe = make_pipe();
    const pid_t child = ::fork();
    if (child == 0) {
      play(folder, pipe.write.get());
      ::_exit(0);
    }
    pipe.write.reset();
    size_t said = 0;
    char byte;
    while (static_cast<int>(said) < target && ::read(pipe.read.get(), &byte, 1) == 1) said++;
    ::usleep(static_cast<useconds_t>(pause_us));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(pipe.read.get(), &byte, 1) == 1) said++;
    return said;
  }

  /// Without what differs from one sitting to the next.
  static std::vector<Json> comparable(const fs::path& folder) {
    std::vector<Json> events = events_of(folder);
    for (Json& event : events) {
      event.erase("elapsed_s");
      event.erase("took_s");
    }
    return events;
  }

  TemporaryFolder folder_{"ww-kill-test", "/dev/shm"};
};

TEST_F(KillTest, AnEpisodeThatIsKilledAgainAndAgainLosesNothingThatWasSaid) {
  const fs::path whole = folder_.path() / "whole", killed = folder_.path() / "killed";
  make_folders(whole);
  play(whole, -1);
  const std::vector<Json> expected = comparable(whole);
  make_folders(killed);
  for (int kill = 0; kill < kKills; kill++) {
    const uint64_t draw = random_word();
    if (events_of(killed).size() == expected.size()) {
      fs::remove_all(killed);
      make_folders(killed);
    }
    const size_t before = events_of(killed).size();
    const size_t said = play_and_kill(killed, static_cast<int>(draw % 20), draw / 20 % 1500);
    const std::vector<Json> events = comparable(killed);
    ASSERT_GE(events.size(), before + said) << "draw " << draw;
    ASSERT_LE(events.size(), expected.size());
    for (size_t i = 0; i < events.size(); i++) ASSERT_EQ(events[i], expected[i]) << "event " << i << ", draw " << draw;
  }
  EXPECT_EQ(play(killed, -1).ending, Ending::kFinished);
  EXPECT_EQ(comparable(killed), expected);
  EXPECT_EQ(*read_file(killed / "workspace/kernels/solution.cpp"),
            *read_file(whole / "workspace/kernels/solution.cpp"));
}

}  // namespace
}  // namespace ww::agent
