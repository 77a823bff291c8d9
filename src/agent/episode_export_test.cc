// SPDX-License-Identifier: Apache-2.0
#include "agent/episode_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/fake_workshop.h"
#include "base/json.h"

namespace ww::agent {
namespace {

Json event(const std::string& kind, Json more) {
  more["event"] = kind;
  more["elapsed_s"] = 1.0;
  return more;
}

Json reply(const std::string& text, const Json& tokens) {
  return event("reply", {{"text", text},
                         {"calls", {{{"id", "c1"}, {"tool", "profile"}, {"arguments", "{}"}}}},
                         {"reasoning", "because"},
                         {"usage", {{"input", 10}, {"cached", 0}, {"output", 2}, {"cost_usd", 0.5}}},
                         {"tokens", tokens}});
}

std::vector<Json> episode(const std::string& ending, double speedup) {
  const Json verdict = verdict::to_json(example_verdict(speedup, {.compile = true}));
  return {
      event("start", {{"schema", "warpwright.episode/1"},
                      {"task", {{"name", "t"}, {"id", "abc"}}},
                      {"model", "m"},
                      {"prompt", "make it fast"}}),
      reply("one", {{"kept", 0}, {"more", {1, 2}}, {"output", {3}}, {"logprobs", {-0.5}}}),
      event(
          "tool",
          {{"id", "c1"}, {"tool", "profile"}, {"text", "pass"}, {"data", {{"attempt", "001"}, {"verdict", verdict}}}}),
      reply("two", {{"kept", 3}, {"more", {4}}, {"output", {5, 6}}, {"logprobs", {-0.25, -0.125}}}),
      event("tool", {{"id", "c1"}, {"tool", "profile"}, {"text", "no"}, {"data", {{"error", "no"}}}}),
      event("end", {{"ending", ending}, {"reason", ""}})};
}

TEST(EpisodeExport, ChatRowsAreMessagesWithTools) {
  const Json row = export_episode(episode("finished", 2), ExportFormat::kSft, "run1", reward::Kind::kMilestone).at(0);
  ASSERT_EQ(row["messages"].size(), 5u);
  EXPECT_EQ(row["messages"][1]["tool_calls"][0]["function"]["name"], "profile");
  EXPECT_EQ(row["messages"][1]["reasoning_content"], "because");
  EXPECT_EQ(row["messages"][2],
            (Json{{"role", "tool"}, {"tool_call_id", "c1"}, {"name", "profile"}, {"content", "pass"}}));
  EXPECT_EQ(row["tools"][0]["function"]["parameters"]["type"], "object");
  EXPECT_EQ(row["metadata"]["reward"], 3);
  EXPECT_EQ(row["metadata"]["refused_calls"], 1);
}

TEST(EpisodeExport, VerlRowsHoldPromptRewardAndMaskedTokens) {
  const Json row = export_episode(episode("finished", 2), ExportFormat::kVerl, "run1", reward::Kind::kMilestone).at(0);
  EXPECT_EQ(row["prompt"], (Json::array({{{"role", "user"}, {"content", "make it fast"}}})));
  EXPECT_EQ(row["reward_model"]["ground_truth"], "abc");
  EXPECT_EQ(row["prompt_ids"], (Json{1, 2}));
  EXPECT_EQ(row["response_ids"], (Json{3, 4, 5, 6}));
  EXPECT_EQ(row["response_mask"], (Json{1, 0, 1, 1}));
  EXPECT_EQ(row["response_logprobs"], (Json{-0.5, 0.0, -0.25, -0.125}));
  EXPECT_EQ(row["num_turns"], 2);
}

TEST(EpisodeExport, SlimeRowsDropWhatHasNoReward) {
  const Json good = export_episode(episode("turn_limit", 2), ExportFormat::kSlime, "r", reward::Kind::kMilestone).at(0);
  EXPECT_EQ(good["tokens"], (Json{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(good["response_length"], 4);
  EXPECT_EQ(good["loss_mask"], (Json{1, 0, 1, 1}));
  EXPECT_EQ(good["status"], "truncated");
  EXPECT_EQ(good["remove_sample"], false);
  const Json fault = export_episode(episode("fault", 2), ExportFormat::kSlime, "r", reward::Kind::kMilestone).at(0);
  EXPECT_EQ(fault["remove_sample"], true);
  EXPECT_EQ(fault["reward"], nullptr);
}

TEST(EpisodeExport, ACompactionStartsANewRow) {
  std::vector<Json> events = episode("finished", 2);
  events.insert(events.begin() + 3, event("compact", {{"text", "summary"}, {"replies", 1}}));
  const auto rows = export_episode(events, ExportFormat::kSft, "r", reward::Kind::kMilestone);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["messages"][0]["content"], "make it fast\n\nsummary");
  EXPECT_EQ(rows[1]["metadata"]["chain"], 2);
}

TEST(EpisodeExport, ASummaryCountsWhatWasSpent) {
  const Json summary = summarise_episode(episode("finished", 2));
  EXPECT_EQ(summary["turns"], 2);
  EXPECT_EQ(summary["input_tokens"], 20);
  EXPECT_EQ(summary["cost_usd"], 1.0);
  EXPECT_EQ(summary["best"]["ratio"], 2.0);
}

}  // namespace
}  // namespace ww::agent
