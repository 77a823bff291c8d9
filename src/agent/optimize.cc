// SPDX-License-Identifier: Apache-2.0
#include "agent/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "agent/bounded_text.h"
#include "agent/lanes.h"
#include "agent/module_export.h"
#include "agent/prompt.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr size_t kNameLimit = 80;  // bytes of an attempt's name, for reports

double eager_low(const verdict::Verdict& verdict) {
  const auto& figures = verdict.conclusion.figures();
  return figures && figures->speedup.eager ? figures->speedup.eager->low : 0;
}

double eager_ratio(const verdict::Verdict& verdict) {
  const auto& figures = verdict.conclusion.figures();
  return verdict.passed() && figures && figures->speedup.eager ? figures->speedup.eager->ratio : 0;
}

/// Reads attempts off the events of all samples. Thread-safe; the observer is called by one thread at a time.
class Attempts {
 public:
  Attempts(const RunFolder& run, int samples, const Observer& observer)
      : run_(run), observer_(observer), names_(static_cast<size_t>(samples)) {}

  void take(int sample, const Json& event, const Spend& spend) {
    const std::lock_guard lock(mutex_);
    std::string& name = names_[static_cast<size_t>(sample)];
    if (event.at("event") == "reply") {
      const std::string text = event.at("text");
      name = shorten(text.substr(0, text.find('\n')), kNameLimit);
      if (observer_.on_reply) observer_.on_reply({sample, static_cast<int>(names_.size()), name, spend, best_});
    }
    if (event.at("event") != "tool" || !event.at("data").contains("verdict")) return;
    const auto verdict = verdict::from_json(event.at("data").at("verdict"));
    if (!verdict)
      throw Fault(Fault::Kind::kProtocol, "the episode holds a verdict that cannot be read: " + verdict.error().text());
    const int number = static_cast<int>(tried_.size()) + 1;
    tried_.push_back({.number = number,
                      .sample = sample,
                      .name = name.empty() ? fmt::format("attempt {}", number) : name,
                      .folder = run_.sample(sample).attempts() / event.at("data").at("attempt").get<std::string>(),
                      .verdict = *verdict});
    best_ = std::max(best_, eager_ratio(*verdict));
    if (observer_.on_attempt) observer_.on_attempt(tried_.back());
  }

  const std::vector<Attempt>& tried() const { return tried_; }

 private:
  const RunFolder& run_;
  const Observer& observer_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::string> names_;
  std::vector<Attempt> tried_;
  double best_ = 0;
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

std::string why_no_attempt(const std::vector<Attempt>& tried, const std::vector<EpisodeEnd>& ends) {
  if (tried.empty()) return fmt::format("nothing was judged: {}", ends.front().reason);
  const bool any_passed = std::any_of(tried.begin(), tried.end(), [](const Attempt& a) { return a.verdict.passed(); });
  if (any_passed) return "what passed is not surely faster than eager";
  const verdict::Verdict& last = tried.back().verdict;
  return fmt::format("nothing passed; last: {}: {}", verdict::name(last.outcome()), last.conclusion.reason());
}

/// Puts the winner's folder together aside and renames it: it is there whole or not at all.
Status make_winner(Workshop& workshop, const task::Task& task, const RunFolder& run, const Attempt& attempt,
                   const verdict::Verdict& verdict) {
  const fs::path& sources = attempt.folder;
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
    std::vector<std::unique_ptr<Model>> models;
    for (int sample = 0; sample < settings_.samples && optimized_.no_winner.empty(); sample++) {
      auto model = open_model();
      if (model) models.push_back(std::move(*model));
      if (!model) optimized_.no_winner = model.error().text();
    }
    if (optimized_.no_winner.empty()) {
      if (auto played = play_all(models); !played) return played.error();
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

  Status play_all(const std::vector<std::unique_ptr<Model>>& models) {
    Attempts attempts(run_, settings_.samples, observer_);
    std::vector<Result<EpisodeEnd>> ends(models.size(), EpisodeEnd{});
    run_lanes(settings_.samples, workshop_, [&](int sample, Workshop& workshop) {
      const auto index = static_cast<size_t>(sample);
      ends[index] = play(sample, *models[index], workshop, attempts);
    });
    optimized_.tried = attempts.tried();
    for (const auto& end : ends) {
      if (!end) return end.error();
      if (end->ending == Ending::kInterrupted) throw Fault(Fault::Kind::kInterrupted, "interrupted");
      optimized_.ends.push_back(*end);
    }
    return Unit{};
  }

  /// One sample, from wherever its file stands.
  Result<EpisodeEnd> play(int sample, Model& model, Workshop& workshop, Attempts& attempts) const {
    const RunFolder folder = run_.sample(sample);
    if (std::error_code code; !fs::exists(folder.episode(), code)) Episode::create(folder.episode());
    auto episode = Episode::open(folder.episode());
    if (!episode) return episode.error();
    // None as well where the disk was full, or the process killed, before the first event was whole.
    if (episode->events().empty()) {
      begin_episode(*episode, model, task_prompt(task_), {{"name", task_.name}, {"id", task_.id}}, settings_json());
    }
    const auto take = [&](const Json& event, const Spend& spend) { attempts.take(sample, event, spend); };
    for (const Json& event : episode->events()) take(event, {});
    Tools tools(folder.workspace(), folder.attempts(), workshop);
    return run_episode(
        *episode, model, tools,
        {.limits = settings_.limits, .compact = settings_.compact, .interrupted = interrupted_, .on_event = take});
  }

  Json settings_json() const {
    const Limits& limits = settings_.limits;
    return {{"turns", limits.turns},   {"wall_s", limits.wall.count()}, {"context_tokens", limits.context_tokens},
            {"tokens", limits.tokens}, {"cost_usd", limits.cost_usd},   {"compact", settings_.compact}};
  }

  /// Judges the best attempts again until one holds: a figure that was picked for being high is not a measurement.
  Status confirm() {
    auto order = ranked(optimized_.tried);
    if (order.empty()) optimized_.no_winner = why_no_attempt(optimized_.tried, optimized_.ends);
    order.resize(std::min(order.size(), static_cast<size_t>(settings_.confirmations)));
    if (!order.empty() && settings_.confirm_afresh) workshop_.start_afresh();
    for (const Attempt* attempt : order) {
      enter(fmt::format("judging \"{}\" again", attempt->name));
      const auto verdict = workshop_.judge(attempt->folder, {.compile = true, .time_cap = settings_.confirm_cap});
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

namespace {

Json samples_json(const std::vector<EpisodeEnd>& ends) {
  Json samples = Json::array();
  for (const EpisodeEnd& end : ends) {
    samples.push_back({{"ending", name(end.ending)},
                       {"reason", end.reason},
                       {"turns", end.spend.turns},
                       {"input_tokens", end.spend.input_tokens},
                       {"output_tokens", end.spend.output_tokens},
                       {"cost_usd", end.spend.cost_usd}});
  }
  return samples;
}

}  // namespace

Json to_json(const Optimized& optimized, const RunFolder& run, const task::Task& task) {
  Json tried = Json::array();
  for (const Attempt& attempt : optimized.tried) {
    const Json verdict = verdict::to_json(attempt.verdict);
    Json line = {{"number", attempt.number},         {"name", attempt.name},
                 {"sample", attempt.sample + 1},     {"folder", attempt.folder.string()},
                 {"outcome", verdict.at("outcome")}, {"reason", verdict.at("reason")},
                 {"speedup", verdict.at("speedup")}};
    tried.push_back(std::move(line));
  }
  Json json = {{"schema", kRunSchema}, {"task", {{"name", task.name}, {"id", task.id}}}};
  json["winner"] = optimized.winner ? Json(run.winner().string()) : Json();
  json["verdict"] = optimized.winner ? verdict::to_json(*optimized.winner) : Json();
  json["reason"] = optimized.no_winner;
  json["weak_task"] = optimized.weak;
  json["tried"] = std::move(tried);
  json["ending"] = optimized.ends.empty() ? name(Ending::kModelError) : name(optimized.ends.front().ending);
  json["samples"] = samples_json(optimized.ends);
  json["run"] = run.path().string();
  return json;
}

}  // namespace ww::agent
