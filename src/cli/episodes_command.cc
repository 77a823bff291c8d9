// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "agent/episode.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "verdict/verdict.h"

namespace ww::cli {
namespace {

/// The speed-up over eager of the best verdict, by its lower end; null if none was timed and passed.
Json best_speedup(const std::vector<Json>& events) {
  Json best;
  for (const Json& event : events) {
    if (event.at("event") != "tool" || !event.at("data").contains("verdict")) continue;
    const auto verdict = verdict::from_json(event.at("data").at("verdict"));
    if (!verdict || !verdict->conclusion.figures() || !verdict->conclusion.figures()->speedup.eager) continue;
    const verdict::Ratio& eager = *verdict->conclusion.figures()->speedup.eager;
    if (best.is_null() || eager.low > best["low"].get<double>()) {
      best = {{"ratio", eager.ratio}, {"low", eager.low}, {"high", eager.high}};
    }
  }
  return best;
}

Json summary(const fs::path& run, const std::vector<Json>& events) {
  Json json = {{"run", run.string()}, {"task", Json()}, {"model", Json()}, {"turns", 0}, {"ending", Json()}};
  if (events.empty()) return json;
  json["task"] = events.front().value("task", Json::object()).value("name", Json());
  json["model"] = events.front().value("model", Json());
  json["turns"] =
      std::count_if(events.begin(), events.end(), [](const Json& event) { return event.at("event") == "reply"; });
  if (events.back().at("event") == "end") json["ending"] = events.back().at("ending");
  json["elapsed_s"] = events.back().at("elapsed_s");
  json["best"] = best_speedup(events);
  return json;
}

std::string to_text(const Json& episode) {
  const auto word = [&](const char* key, const char* none) {
    return episode.contains(key) && episode[key].is_string() ? episode[key].get<std::string>() : std::string(none);
  };
  const Json& best = episode.value("best", Json());
  return fmt::format("{:<36}  {:<24}  {:<10}  {:>4} turns  {:<12}  {}\n", word("run", ""), word("task", "?"),
                     word("model", "?"), episode["turns"].get<int>(), word("ending", "running or killed"),
                     best.is_null() ? "no pass"
                                    : fmt::format("{:.2f}x eager [{:.2f}, {:.2f}]", best["ratio"].get<double>(),
                                                  best["low"].get<double>(), best["high"].get<double>()));
}

}  // namespace

int run_episodes_list(const EpisodesOptions& options, const Environment&) {
  std::error_code code;
  std::vector<fs::path> runs;
  for (const auto& entry : fs::directory_iterator(options.runs, code)) {
    if (fs::exists(entry.path() / "episode.jsonl", code)) runs.push_back(entry.path());
  }
  if (!fs::is_directory(options.runs, code)) return refuse(options.runs.string() + ": is no folder of runs");
  std::sort(runs.begin(), runs.end());
  Json list = Json::array();
  int exit_code = kExitPass;
  for (const fs::path& run : runs) {
    const auto events = agent::Episode::read(run / "episode.jsonl");
    if (events) {
      list.push_back(summary(run, *events));
    } else {
      exit_code = refuse(events.error().text());
    }
  }
  if (options.json) {
    print_document(list);
  } else {
    for (const Json& episode : list) print(to_text(episode));
  }
  return exit_code;
}

}  // namespace ww::cli
