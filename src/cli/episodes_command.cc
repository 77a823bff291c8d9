// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "agent/episode.h"
#include "agent/episode_export.h"
#include "agent/judge_workshop.h"
#include "agent/replay.h"
#include "agent/run_folder.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "reward/reward.h"

namespace ww::cli {
namespace {

/// Episode files: a file itself, a run folder's with its samples', or those of every run in a folder.
std::vector<fs::path> episode_files(const fs::path& where) {
  std::error_code code;
  if (fs::is_regular_file(where, code)) return {where};
  std::vector<fs::path> files;
  const auto add_folders = [&](const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder, code)) {
      if (fs::exists(entry.path() / "episode.jsonl", code)) files.push_back(entry.path() / "episode.jsonl");
    }
  };
  if (fs::exists(where / "episode.jsonl", code)) {
    files.push_back(where / "episode.jsonl");
    add_folders(where / "samples");
  } else {
    add_folders(where);
    const std::vector<fs::path> runs = files;
    for (const fs::path& run : runs) add_folders(run.parent_path() / "samples");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string to_text(const Json& episode) {
  const auto word = [&](const char* key, const char* none) {
    return episode.contains(key) && episode[key].is_string() ? episode[key].get<std::string>() : std::string(none);
  };
  const Json& best = episode.at("best");
  std::string text = fmt::format("{:<36}  {:<24}  {:<10}  {:>4} turns  {:<13}  {:>7.0f} s", word("run", ""),
                                 word("task", "?"), word("model", "?"), episode.at("turns").get<int>(),
                                 word("ending", "running or killed"), episode.at("elapsed_s").get<double>());
  const int64_t tokens = episode.at("input_tokens").get<int64_t>() + episode.at("output_tokens").get<int64_t>();
  if (tokens > 0) text += fmt::format("  {}k tokens", (tokens + 500) / 1000);
  if (const double cost = episode.at("cost_usd"); cost > 0) text += fmt::format("  ${:.2f}", cost);
  return text + (best.is_null() ? "  no pass\n"
                                : fmt::format("  {:.2f}x eager [{:.2f}, {:.2f}]\n", best["ratio"].get<double>(),
                                              best["low"].get<double>(), best["high"].get<double>()));
}

/// One event for people.
std::string event_text(const Json& event) {
  const std::string kind = event.at("event");
  const std::string stamp = fmt::format("[{:.1f} s] ", event.at("elapsed_s").get<double>());
  if (kind == "start") return stamp + "prompt\n" + event.at("prompt").get<std::string>() + "\n";
  if (kind == "tool") {
    return stamp + "result of " + event.at("tool").get<std::string>() + "\n" + event.at("text").get<std::string>() +
           "\n";
  }
  if (kind == "notice" || kind == "compact") return stamp + kind + "\n" + event.at("text").get<std::string>() + "\n";
  if (kind == "end") {
    return stamp + "end: " + event.at("ending").get<std::string>() + ": " + event.at("reason").get<std::string>() +
           "\n";
  }
  if (kind != "reply") return stamp + kind + "\n";
  std::string text = stamp + "model: " + event.at("text").get<std::string>() + "\n";
  for (const Json& call : event.at("calls")) {
    text += "  calls " + call.at("tool").get<std::string>() + " " + call.at("arguments").get<std::string>() + "\n";
  }
  return text;
}

}  // namespace

int run_episodes_list(const EpisodesOptions& options, const Environment&) {
  std::error_code code;
  if (!fs::is_directory(options.where, code)) return refuse(options.where.string() + ": is no folder of runs");
  Json list = Json::array();
  int exit_code = kExitPass;
  for (const fs::path& file : episode_files(options.where)) {
    const auto events = agent::Episode::read(file);
    if (!events) {
      exit_code = refuse(events.error().text());
      continue;
    }
    Json episode = {{"run", file.parent_path().string()}};
    episode.update(agent::summarise_episode(*events));
    list.push_back(std::move(episode));
  }
  if (options.json) {
    print_document(list);
  } else {
    for (const Json& episode : list) print(to_text(episode));
  }
  return exit_code;
}

int run_episodes_show(const EpisodesOptions& options, const Environment&) {
  const auto files = episode_files(options.where);
  if (files.empty()) return refuse(options.where.string() + ": holds no episode");
  for (const fs::path& file : files) {
    const auto events = agent::Episode::read(file);
    if (!events) return refuse(events.error().text());
    for (const Json& event : *events) print(event_text(event));
  }
  return kExitPass;
}

int run_episodes_replay(const EpisodesOptions& options, const Environment& environment) {
  const auto run = agent::RunFolder::open(options.where);
  if (!run) return refuse(run.error().text());
  const auto settings = run->read_settings();
  if (!settings) return refuse(settings.error().text());
  const Json asked = settings->value("task", Json::object());
  auto task = task::load_task(asked.value("where", std::string()), environment.tasks());
  if (!task) return refuse(task.error().text());
  if (task->id != asked.value("id", std::string())) return refuse(task->name + ": has changed since the run began");
  Progress progress;
  agent::JudgeWorkshop workshop(*task, {.judge = environment.judge_settings(),
                                        .interrupted = &interrupted(),
                                        .on_progress = [&](const judge::Progress& each) { progress.show(each); }});
  int different = 0;
  for (const fs::path& file : episode_files(options.where)) {
    const auto events = agent::Episode::read(file);
    if (!events) return refuse(events.error().text());
    const TemporaryFolder folder("ww-replay");
    agent::Tools tools(folder.path() / "workspace", folder.path() / "attempts", workshop);
    different += agent::replay_episode(*events, tools, [&](const agent::Replayed& call) {
      progress.clear();
      print(fmt::format("turn {:>3}  {:<12}  {}\n", call.turn, call.tool, call.same() ? "same" : "differs"));
      if (!call.same()) print(fmt::format("  before: {}\n  now:    {}\n", call.before, call.after));
    });
  }
  print(different == 0 ? "the same came of every call\n" : fmt::format("{} calls differ\n", different));
  return different == 0 ? kExitPass : kExitNotPassed;
}

int run_episodes_export(const EpisodesOptions& options, const Environment&) {
  const auto files = episode_files(options.where);
  if (files.empty()) return refuse(options.where.string() + ": holds no episode");
  const auto format = agent::export_format_from_name(options.format);
  const auto kind = reward::kind_from_name(options.reward);
  WW_CHECK(format && kind, "the command line knows the formats and rewards");
  for (const fs::path& file : files) {
    const auto events = agent::Episode::read(file);
    if (!events) return refuse(events.error().text());
    if (options.passed && agent::summarise_episode(*events).at("best").is_null()) continue;
    for (const Json& row : agent::export_episode(*events, *format, file.parent_path().string(), *kind)) print_line(row);
  }
  return kExitPass;
}

}  // namespace ww::cli
