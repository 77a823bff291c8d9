// SPDX-License-Identifier: Apache-2.0
#include "agent/replay.h"

#include <deque>

#include "agent/history.h"
#include "base/json.h"

namespace ww::agent {
namespace {

std::string comparable(const std::string& text, const Json& data) {
  if (data.contains("verdict")) return data["verdict"].value("outcome", std::string("?"));
  if (data.contains("ok")) return data["ok"] == true ? "builds" : "does not build";
  return text;
}

}  // namespace

int replay_episode(const std::vector<Json>& events, Tools& tools, const std::function<void(const Replayed&)>& on_call) {
  std::deque<ToolCall> open;
  int turn = 0, ordinal = 0, different = 0;
  for (const Json& event : events) {
    if (event.at("event") == "reply") {
      const auto calls = calls_of(event);
      open.assign(calls.begin(), calls.end());
      turn++;
    }
    if (event.at("event") != "tool") continue;
    const ToolCall call = open.front();
    open.pop_front();
    const ToolResult result = tools.call(call, ++ordinal);
    const Replayed replayed{.turn = turn,
                            .tool = call.tool,
                            .before = comparable(event.at("text"), event.at("data")),
                            .after = comparable(result.text, parse_own_json(result.data))};
    if (!replayed.same()) different++;
    if (on_call) on_call(replayed);
  }
  return different;
}

}  // namespace ww::agent
