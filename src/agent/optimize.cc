// SPDX-License-Identifier: Apache-2.0
#include "agent/optimize.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/module_export.h"
#include "agent/prompt.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

double eager_low(const verdict::Verdict& verdict) {
  const auto& figures = verdict.conclusion.figures();
  return figures && figures->speedup.eager ? figures->speedup.eager->low : 0;
}

/// Reads attempts off the events of an episode, in order.
class Attempts {
 public:
  /// Returns true if the event brought a new attempt.
  bool take(const Json& event) {
    if (event.at("event") == "reply") name_ = event.at("text").get<std::string>();
    if (event.at("event") != "tool" || !event.at("data").contains("verdict")) return false;
    const auto verdict = verdict::from_json(event.at("data").at("verdict"));
    if (!verdict)
      throw Fault(Fault::Kind::kProtocol, "the episode holds a verdict that cannot be read: " + verdict.error().text());
    const int number = static_cast<int>(tried_.size()) + 1;
    tried_.push_back({.number = number, .name = name(), .folder = event.at("data").at("attempt"), .verdict = *verdict});
    return true;
  }

  const std::vector<Attempt>& tried() const { return tried_; }
  /// Of what comes next: what the model said first, or a number.
  std::string name() const {
    const std::string first_line = name_.substr(0, name_.find('\n'));
    return first_line.empty() ? fmt::format("attempt {}", tried_.size() + 1) : first_line;
  }

 private:
  std::string name_;
  std::vector<Attempt> tried_;
};

/// Attempts that beat eager, best first; of equal sources only the best.
std::vector<const Attempt*> ranked(const std::vector<Attempt>& tried) {
  std::vector<const Attempt*> order;
  for (const Attempt& attempt : tried) {
    if (attempt.verdict.passed() && eager_low(attempt.verdict) > 1) order.push_back(&attempt);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Attempt* a, const Attempt* b) { return eager_low(a->verdict) > eager_low(b->verdict); });
  std::vector<const Attempt*> distinct;
  for (const Attempt* attempt : order) {
    const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const Attempt* other) {
      return other->verdict.solution.id == attempt->verdict.solution.id;
    });
    if (!known) distinct.push_back(attempt);
  }
  return distinct;
}

std::string why_no_attempt(const std::vector<Attempt>& tried, const EpisodeEnd& end) {
  if (tried.empty()) return fmt::format("nothing was judged: {}", end.reason);
  const bool any_passed = std::any_of(tried.begin(), tried.end(), [](const Attempt& a) { return a.verdict.passed(); });
  if (any_passed) return "what passed is not surely faster than eager";
  const verdict::Verdict& last = tried.back().verdict;
  return fmt::format("nothing passed; last: {}: {}", verdict::name(last.outcome()), last.conclusion.reason());
}

/// Puts the winner's folder together aside and renames it: it is there whole or not at all.
Status make_winner(Workshop& workshop, const task::Task& task, const RunFolder& run, const Attempt& attempt,
                   const verdict::Verdict& verdict) {
  const fs::path sources = run.attempts() / attempt.folder;
  const fs::path aside = run.path() / "winner.part";
  std::error_code code;
  fs::remove_all(aside, code);
  make_folders(aside);
  fs::copy(sources / "kernels", aside / "kernels", fs::copy_options::recursive, code);
  if (code) throw_errno("copying the winner to " + aside.string(), code.value());
  write_file(aside / "verdict.json", verdict::to_json(verdict).dump(2) + "\n");
  const Built built = workshop.build(sources);
  if (!built.ok) throw Fault(Fault::Kind::kSystem, "what was judged does not build again: " + built.diagnostics);
  const auto description = workshop.describe();
  if (!description) return description.error();
  if (auto written = export_module(aside, task, *description, verdict, built.library); !written) return written;
  if (auto tried = workshop.try_module(aside); !tried) return tried;
  fs::remove_all(run.winner(), code);
  fs::rename(aside, run.winner(), code);
  if (code) throw_errno("renaming to " + run.winner().string(), code.value());
  return Unit{};
}

class Optimization {
 public:
  Optimization(Workshop& workshop, const task::Task& task, const RunFolder& run, const OptimizeSettings& settings,
               const std::atomic<bool>* interrupted, const Observer& observer)
      : workshop_(workshop),
        task_(task),
        run_(run),
        settings_(settings),
        interrupted_(interrupted),
        observer_(observer) {}

  Result<Optimized> operator()(const ModelOpener& open_model) {
    enter("checking the task");
    const judge::Admission admission = workshop_.admit();
    if (!admission.admitted) return Error{fmt::format("{}", fmt::join(admission.problems, "\n")), ""};
    optimized_.weak = admission.weak;
    enter("asking the model");
    const auto model = open_model();
    if (!model) {
      optimized_.end = {Ending::kModelError, model.error().text()};
      optimized_.no_winner = model.error().text();
    } else {
      if (auto played = play(**model); !played) return played.error();
      if (auto confirmed = confirm(); !confirmed) return confirmed.error();
    }
    run_.write_result(to_json(optimized_, run_, task_));
    return optimized_;
  }

 private:
  void enter(const std::string& stage) const {
    if (interrupted_ && *interrupted_) throw Fault(Fault::Kind::kInterrupted, "interrupted");
    if (observer_.on_stage) observer_.on_stage(stage);
  }

  Status play(Model& model) {
    if (std::error_code code; !fs::exists(run_.episode(), code)) Episode::create(run_.episode());
    auto episode = Episode::open(run_.episode());
    if (!episode) return episode.error();
    // None as well where the disk was full, or the process killed, before the first event was whole.
    if (episode->events().empty()) {
      begin_episode(*episode, model, task_prompt(task_), {{"name", task_.name}, {"id", task_.id}},
                    {{"turns", settings_.limits.turns}, {"wall_s", settings_.limits.wall.count()}});
    }
    Attempts attempts;
    const auto take = [&](const Json& event) {
      if (attempts.take(event) && observer_.on_attempt) observer_.on_attempt(attempts.tried().back());
      if (event.at("event") == "reply" && observer_.on_stage) observer_.on_stage(attempts.name());
    };
    for (const Json& event : episode->events()) take(event);
    Tools tools(run_.workspace(), run_.attempts(), workshop_);
    optimized_.end = run_episode(*episode, model, tools,
                                 {.limits = settings_.limits, .interrupted = interrupted_, .on_event = take});
    optimized_.tried = attempts.tried();
    if (optimized_.end.ending == Ending::kInterrupted) throw Fault(Fault::Kind::kInterrupted, "interrupted");
    return Unit{};
  }

  /// Judges the best attempts again until one holds: a figure that was picked for being high is not a measurement.
  Status confirm() {
    auto order = ranked(optimized_.tried);
    if (order.empty()) optimized_.no_winner = why_no_attempt(optimized_.tried, optimized_.end);
    order.resize(std::min(order.size(), static_cast<size_t>(settings_.confirmations)));
    for (const Attempt* attempt : order) {
      enter(fmt::format("judging \"{}\" again", attempt->name));
      const auto verdict =
          workshop_.judge(run_.attempts() / attempt->folder, {.compile = true, .time_cap = settings_.confirm_cap});
      if (!verdict) return verdict.error();
      optimized_.no_winner = why_not(*attempt, *verdict);
      if (!optimized_.no_winner.empty()) continue;
      optimized_.winner = *verdict;
      return Unit{};
    }
    return Unit{};
  }

  /// "" where the attempt holds; then the winner's folder is there.
  std::string why_not(const Attempt& attempt, const verdict::Verdict& verdict) const {
    if (!verdict.passed()) {
      return fmt::format("\"{}\" passed once and then did not: {}: {}", attempt.name, verdict::name(verdict.outcome()),
                         verdict.conclusion.reason());
    }
    if (eager_low(verdict) <= 1) {
      return fmt::format("\"{}\" is not surely faster than eager when judged again", attempt.name);
    }
    enter("trying module.py in a fresh Python");
    const auto made = make_winner(workshop_, task_, run_, attempt, verdict);
    if (made) return "";
    return fmt::format("\"{}\" passed, but its module.py does not stand in for Model: {}", attempt.name,
                       made.error().text());
  }

  Workshop& workshop_;
  const task::Task& task_;
  const RunFolder& run_;
  const OptimizeSettings& settings_;
  const std::atomic<bool>* interrupted_;
  const Observer& observer_;
  Optimized optimized_;
};

}  // namespace

Result<Optimized> optimize(Workshop& workshop, const task::Task& task, const RunFolder& run,
                           const ModelOpener& open_model, const OptimizeSettings& settings,
                           const std::atomic<bool>* interrupted, const Observer& observer) {
  return Optimization(workshop, task, run, settings, interrupted, observer)(open_model);
}

Json to_json(const Optimized& optimized, const RunFolder& run, const task::Task& task) {
  Json tried = Json::array();
  for (const Attempt& attempt : optimized.tried) {
    const Json verdict = verdict::to_json(attempt.verdict);
    Json line = {{"number", attempt.number},
                 {"name", attempt.name},
                 {"folder", (run.attempts() / attempt.folder).string()},
                 {"outcome", verdict.at("outcome")},
                 {"reason", verdict.at("reason")},
                 {"speedup", verdict.at("speedup")}};
    tried.push_back(std::move(line));
  }
  Json json = {{"schema", kRunSchema}, {"task", {{"name", task.name}, {"id", task.id}}}};
  json["winner"] = optimized.winner ? Json(run.winner().string()) : Json();
  json["verdict"] = optimized.winner ? verdict::to_json(*optimized.winner) : Json();
  json["reason"] = optimized.no_winner;
  json["weak_task"] = optimized.weak;
  json["tried"] = std::move(tried);
  json["ending"] = name(optimized.end.ending);
  json["run"] = run.path().string();
  return json;
}

}  // namespace ww::agent
