// SPDX-License-Identifier: Apache-2.0
//
// How episodes end that do not end well: limits, models that go in circles, say nothing or refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/episode.h"
#include "agent/fake_model.h"
#include "agent/fake_workshop.h"
#include "agent/history.h"
#include "agent/loop.h"
#include "agent/repeats.h"
#include "agent/token_record.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ToolCall call(const std::string& tool, const Json& arguments) { return {"c", tool, arguments.dump()}; }

Reply writes(int turn, size_t bytes) {
  return {.text = "turn " + std::to_string(turn),
          .calls = {call("write", {{"path", "a"}, {"text", std::to_string(turn) + std::string(bytes, 'x')}})}};
}

class LimitsTest : public ::testing::Test {
 protected:
  EpisodeEnd play(Model& model, LoopSettings settings = {}) {
    Tools tools(folder_.path() / "workspace", folder_.path() / "attempts", workshop_);
    if (!fs::exists(path())) {
      Episode made = Episode::create(path());
      begin_episode(made, model, "make it fast", {{"name", "t"}}, Json::object());
    }
    auto episode = Episode::open(path());
    EXPECT_TRUE(episode.ok()) << episode.error().text();
    auto end = run_episode(*episode, model, tools, settings);
    EXPECT_TRUE(end.ok());
    return *end;
  }

  std::vector<Json> events(const std::string& kind) const {
    std::vector<Json> found = *Episode::read(path());
    std::erase_if(found, [&](const Json& event) { return event["event"] != kind; });
    return found;
  }

  fs::path path() const { return folder_.path() / "episode.jsonl"; }

  TemporaryFolder folder_{"ww-limits-test", "/dev/shm"};
  FakeWorkshop workshop_;
};

TEST_F(LimitsTest, AFullContextEndsTheEpisode) {
  FakeModel model([](int turn) { return writes(turn, 3200); });
  const EpisodeEnd end = play(model, {.limits = {.context_tokens = 10'000}});
  EXPECT_EQ(end.ending, Ending::kContextLimit);
  EXPECT_LT(end.spend.context_tokens, 11'000);
  EXPECT_GT(end.spend.turns, 4);
}

TEST_F(LimitsTest, WhereItIsAskedForAFullContextIsGoneOnFromOnceAndThenEnds) {
  FakeModel model([](int turn) {
    Reply reply = writes(turn, 3200);
    if (turn == 0) reply.calls.push_back(call("todo", {{"items", {{{"text", "tune it"}, {"state", "open"}}}}}));
    return reply;
  });
  const EpisodeEnd end = play(model, {.limits = {.context_tokens = 10'000}, .compact = true});
  EXPECT_EQ(end.ending, Ending::kContextLimit);
  ASSERT_EQ(events("compact").size(), 1u);
  EXPECT_THAT(events("compact")[0]["text"].get<std::string>(), AllOf(HasSubstr("tune it"), HasSubstr("--- a\n")));
  EXPECT_THAT(model.seen.front().text, AllOf(HasSubstr("make it fast"), HasSubstr("tune it")));
  EXPECT_EQ(model.seen.front().data, events("compact")[0]["replies"].dump().insert(0, "{\"replies\":") + "}");
  EXPECT_LT(model.seen.size(), events("tool").size() * 2);
}

TEST_F(LimitsTest, AnEndpointThatReportsTheOverflowLateEndsTheSameWay) {
  FakeModel model([](int) { return Answer(Failure::kContextOverflow, {"prompt is too long: 131089 > 131072", ""}); });
  const EpisodeEnd end = play(model);
  EXPECT_EQ(end.ending, Ending::kContextLimit);
  EXPECT_THAT(end.reason, HasSubstr("131089"));
}

TEST_F(LimitsTest, TokensAndCostAreCountedOverAllSittings) {
  const auto reply = [](int turn) {
    Reply made = writes(turn, 10);
    made.usage = {.input = 4000, .cached = 0, .output = 100, .cost_usd = 0.25, .known = true};
    return made;
  };
  FakeModel first(reply);
  EXPECT_EQ(play(first, {.limits = {.cost_usd = 1}}).ending, Ending::kCostLimit);
  EXPECT_EQ(events("reply").size(), 4u);
  fs::remove(path());
  FakeModel broken([&](int turn) { return turn < 2 ? Answer(reply(turn)) : Answer(Error{"gone", ""}); });
  EXPECT_EQ(play(broken).ending, Ending::kModelError);
  FakeModel second([&](int turn) { return reply(turn + 2); });
  const EpisodeEnd end = play(second, {.limits = {.tokens = 12'000}});
  EXPECT_EQ(end.ending, Ending::kTokenLimit);
  EXPECT_EQ(end.spend.input_tokens, 12'000);
  EXPECT_EQ(end.spend.turns, 3);
}

TEST_F(LimitsTest, AModelThatGoesInCirclesIsToldAndThenEnded) {
  FakeModel model([](int turn) {
    return Reply{.text = "", .calls = {call("read", {{"path", turn % 2 == 0 ? "a" : "b"}})}};
  });
  const EpisodeEnd end = play(model);
  EXPECT_EQ(end.ending, Ending::kModelError);
  EXPECT_THAT(end.reason, HasSubstr("repeats itself"));
  EXPECT_EQ(events("notice").size(), 1u);
  EXPECT_EQ(events("reply").size(), 2u * Repeats::kEnd);
  const std::string told = events("notice")[0]["text"];
  EXPECT_TRUE(std::any_of(model.seen.begin(), model.seen.end(), [&](const Message& m) { return m.text == told; }));
}

TEST_F(LimitsTest, TheSameCallWithNewResultsIsNoCircle) {
  FakeModel model([](int turn) {
    if (turn % 2 == 0) return writes(turn, 1);
    return Reply{.text = "", .calls = {call("read", {{"path", "a"}})}};
  });
  EXPECT_EQ(play(model, {.limits = {.turns = 40}}).ending, Ending::kTurnLimit);
  EXPECT_TRUE(events("notice").empty());
}

TEST_F(LimitsTest, AModelThatOnlySpeaksIsAskedForCallsAndThenEnded) {
  FakeModel model([](int turn) { return Reply{.text = "thought " + std::to_string(turn)}; });
  const EpisodeEnd end = play(model);
  EXPECT_EQ(end.ending, Ending::kModelError);
  EXPECT_THAT(end.reason, HasSubstr("called no tool"));
  EXPECT_EQ(model.seen.back().text, "Call a tool, or call finish.");
}

TEST_F(LimitsTest, ACutReplyIsAnsweredWithWhy) {
  FakeModel model([](int turn) {
    if (turn == 0) return Answer(Reply{.text = "a long", .finish = Finish::kLength});
    return Answer(Error{"gone", ""});
  });
  play(model);
  EXPECT_THAT(model.seen.back().text, HasSubstr("cut by the limit"));
}

TEST_F(LimitsTest, ARefusalIsAnEndingThatCanBeGoneOnFrom) {
  FakeModel model([](int) { return Reply{.text = "I cannot", .finish = Finish::kRefusal}; });
  EXPECT_THAT(play(model).reason, HasSubstr("refused"));
  FakeModel willing([](int) { return Reply{.text = "", .calls = {call("finish", Json::object())}}; });
  EXPECT_EQ(play(willing).ending, Ending::kFinished);
}

TEST_F(LimitsTest, EverythingAReplyHoldsIsInTheEpisode) {
  FakeModel model([](int turn) {
    Reply reply{.text = "", .calls = {call("finish", Json::object())}, .reasoning = "because", .echo = "[1]"};
    reply.events = {"a call without an id got one"};
    reply.usage = {.input = 10, .cached = 5, .output = 3, .cost_usd = 0.5, .known = true};
    reply.tokens = {.prompt = {1, 2, 3}, .output = {4, 5}, .logprobs = {-0.5F, -0.25F}};
    return turn == 0 ? Answer(reply) : Answer(Error{"gone", ""});
  });
  play(model);
  const Json reply = events("reply").at(0);
  EXPECT_EQ(reply["reasoning"], "because");
  EXPECT_EQ(reply["echo"], "[1]");
  EXPECT_EQ(reply["noted"][0], "a call without an id got one");
  EXPECT_EQ(reply["usage"]["cached"], 5);
  EXPECT_EQ(reply["tokens"]["more"], (Json{1, 2, 3}));
  EXPECT_EQ(reply["tokens"]["logprobs"], (Json{-0.5, -0.25}));
}

TEST(TokenRecord, APromptKeepsWhatItRepeats) {
  TokenRecord record;
  record.take({{"tokens", record.record({.prompt = {1, 2}, .output = {3}})}});
  const Json next = record.record({.prompt = {1, 2, 3, 4}, .output = {5}});
  EXPECT_EQ(next["kept"], 3);
  EXPECT_EQ(next["more"], Json{4});
  record.take({{"tokens", next}});
  EXPECT_THAT(record.so_far(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(record.record({.prompt = {1, 9}, .output = {7}})["kept"], 1);
}

Json start_event(const std::string& prompt) { return {{"event", "start"}, {"prompt", prompt}}; }

TEST(History, TheTokenCountFollowsWhatIsReported) {
  History history(1000);
  history.take(start_event(std::string(9000, 'x')));
  EXPECT_NEAR(static_cast<double>(history.tokens()), 10'000 / 3.2, 50);
  history.take({{"event", "reply"},
                {"text", ""},
                {"calls", {{{"id", "c"}, {"tool", "read"}, {"arguments", "{}"}}}},
                {"usage", {{"input", 4990}, {"output", 10}}}});
  EXPECT_EQ(history.tokens(), 5000);
  history.take({{"event", "tool"}, {"text", std::string(2000, 'x')}, {"data", Json::object()}});
  EXPECT_NEAR(static_cast<double>(history.tokens()), 6000, 20);
}

TEST(Repeats, CountsRoundsOfUpToFourTurns) {
  Repeats repeats;
  for (const uint64_t turn : {9, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}) repeats.add(turn);
  EXPECT_EQ(repeats.rounds(), 3);
  repeats.add(9);
  EXPECT_EQ(repeats.rounds(), 1);
}

}  // namespace
}  // namespace ww::agent
