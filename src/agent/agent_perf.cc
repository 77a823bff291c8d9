// SPDX-License-Identifier: Apache-2.0
//
// What the loop itself takes: time a turn beyond model and tools over an episode of 200 turns and 131,072 tokens, and
// memory of 64 such episodes at once. The episode files lie in the folder given (default: the system's temporary one),
// so that the disk is part of it.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "agent/episode.h"
#include "agent/fake_model.h"
#include "agent/fake_workshop.h"
#include "agent/loop.h"
#include "base/files.h"
#include "base/json.h"

namespace {

using namespace ww;
using namespace ww::agent;

constexpr int kTurns = 200;
constexpr double kTurnLimitMs = 1;
constexpr double kMemoryLimitMb = 300;
constexpr int kEpisodes = 64;
constexpr size_t kTextBytes = 2050;  // a turn: 200 of them fill 131,072 tokens

/// What a turn costs is told apart from what the model and the tools take by clocks around both.
struct Costs {
  std::vector<double> turn_ms;
  double model_ms = 0, tools_ms = 0, all_ms = 0;
  EpisodeEnd end;
};

Costs play(const fs::path& folder) {
  Costs costs;
  FakeWorkshop workshop;
  nanoseconds asked{};
  FakeModel model([&](int turn) {
    const nanoseconds begin = now();
    if (asked.count() > 0) costs.turn_ms.push_back(to_us(begin - asked) / 1e3);
    Reply reply{.text = "turn " + std::to_string(turn)};
    const Json arguments = {{"path", "kernels/solution.cpp"},
                            {"text", std::to_string(turn) + std::string(kTextBytes, 'x')}};
    reply.calls = {{"c0", "write", arguments.dump()}};
    if (turn + 1 == kTurns) reply.calls = {{"c0", "finish", "{}"}};
    const int64_t tokens = 600 + int64_t{turn} * 648;  // as an endpoint would report them
    reply.usage = {.input = tokens, .cached = 0, .output = 600, .cost_usd = 0, .known = true};
    asked = now();
    costs.model_ms += to_us(asked - begin) / 1e3;
    return reply;
  });
  Tools tools(folder / "workspace", folder / "attempts", workshop);
  Episode::create(folder / "episode.jsonl");
  auto episode = Episode::open(folder / "episode.jsonl");
  begin_episode(*episode, model, "make it fast", {{"name", "t"}}, Json::object());
  LoopSettings settings{.limits = {.turns = kTurns, .context_tokens = 131'072}};
  settings.on_event = [&](const Json& event, const Spend&) {
    if (event["event"] == "tool") costs.tools_ms += event["took_s"].get<double>() * 1e3;
  };
  const nanoseconds begin = now();
  costs.end = *run_episode(*episode, model, tools, settings);
  costs.all_ms = to_us(now() - begin) / 1e3;
  return costs;
}

double peak_mb() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const TemporaryFolder folder("ww-agent-perf", argc > 1 ? argv[1] : "");
  make_folders(folder.path() / "one");
  const Costs one = play(folder.path() / "one");
  const double overhead_ms = (one.all_ms - one.model_ms - one.tools_ms) / kTurns;
  const auto ending = name(one.end.ending);
  std::printf("one episode         %d turns, %lld tokens of context, ending %.*s\n", one.end.spend.turns,
              static_cast<long long>(one.end.spend.context_tokens), static_cast<int>(ending.size()), ending.data());
  std::printf("overhead a turn     %.3f ms  %.2fx of the limit of %.0f ms\n", overhead_ms, overhead_ms / kTurnLimitMs,
              kTurnLimitMs);
  const double before_mb = peak_mb();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kEpisodes; i++) {
      const fs::path each = folder.path() / std::to_string(i);
      make_folders(each);
      threads.emplace_back([each] { play(each); });
    }
  }
  std::printf("%d at once          %.0f MB peak (%.0f before)  %.2fx of the limit of %.0f MB\n", kEpisodes, peak_mb(),
              before_mb, peak_mb() / kMemoryLimitMb, kMemoryLimitMb);
}
