// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "agent/judge_workshop.h"
#include "agent/open_model.h"
#include "agent/optimize.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/text.h"

namespace ww::cli {
namespace {

constexpr std::string_view kScript = "script:";

/// What the run folder keeps, so that --resume needs nothing else.
Json settings_of(const OptimizeOptions& options, const task::Task& task) {
  return {{"verb", "optimize"},
          {"task", {{"name", task.name}, {"id", task.id}, {"where", fs::absolute(task.source_path).string()}}},
          {"model", options.model},
          {"turns", options.turns},
          {"time_limit_s", options.time_limit.count()},
          {"tokens", options.tokens},
          {"cost_usd", options.cost_usd},
          {"context_tokens", options.context_tokens},
          {"compact", options.compact},
          {"samples", options.samples},
          {"time_cap_ms", options.time_cap.count()}};
}

/// The options that run folder `run` was made with. Error where a key is missing or of another type.
Result<OptimizeOptions> stored_options(const agent::RunFolder& run, std::string& task_id) {
  const auto settings = run.read_settings();
  if (!settings) return settings.error();
  try {
    OptimizeOptions options;
    options.task = settings->at("task").at("where").get<std::string>();
    options.model = settings->at("model").get<std::string>();
    options.turns = settings->at("turns").get<int>();
    options.time_limit = seconds(settings->at("time_limit_s").get<int64_t>());
    options.tokens = settings->at("tokens").get<int64_t>();
    options.cost_usd = settings->at("cost_usd").get<double>();
    options.context_tokens = settings->at("context_tokens").get<int64_t>();
    options.compact = settings->at("compact").get<bool>();
    options.samples = settings->at("samples").get<int>();
    options.time_cap = milliseconds(settings->at("time_cap_ms").get<int64_t>());
    task_id = settings->at("task").at("id").get<std::string>();
    return options;
  } catch (const Json::exception& error) {
    return Error{fmt::format("is not what optimize writes ({}); start a new run", error.what()),
                 (run.path() / "run.json").string()};
  }
}

/// A run about to start or to go on.
struct Sitting {
  OptimizeOptions options;
  task::Task task;
  agent::RunFolder run;
};

Result<Sitting> begin(const OptimizeOptions& options, const Environment& environment) {
  auto task = task::load_task(options.task, environment.tasks());
  if (!task) return task.error();
  // Before anything is made or run: a script that cannot be read is a slip of the command line.
  if (options.model.starts_with(kScript)) {
    if (const auto script = read_file(options.model.substr(kScript.size())); !script) return script.error();
  }
  std::error_code code;
  if (!options.run.empty() && fs::exists(options.run, code)) {
    return Error{"exists already; name a new folder, or go on with it by --resume", options.run.string()};
  }
  const auto run =
      options.run.empty() ? agent::RunFolder::create("runs", task->name) : agent::RunFolder::create_at(options.run);
  run.write_settings(settings_of(options, *task));
  return Sitting{options, std::move(*task), run};
}

Result<Sitting> go_on(const OptimizeOptions& options, const Environment& environment) {
  const auto run = agent::RunFolder::open(options.resume);
  if (!run) return run.error();
  std::string id;
  const auto stored = stored_options(*run, id);
  if (!stored) return stored.error();
  auto task = task::load_task(stored->task, environment.tasks());
  if (!task) return task.error();
  if (task->id != id) return Error{"has changed since the run began; start a new run", stored->task};
  return Sitting{*stored, std::move(*task), *run};
}

/// The report, printed piece by piece as it comes and kept for report.txt. With JSON nothing is printed.
class Report {
 public:
  Report(bool print, size_t workloads, Progress& progress, report::Style style)
      : print_(print), workloads_(workloads), progress_(progress), style_(style) {}

  void attempt(const agent::Attempt& attempt) {
    const auto write = [&](report::Style style) {
      return (attempt.number == 1 ? report::headline(attempt.verdict, workloads_) : "") +
             report::attempt_line(attempt.number, attempt.name, attempt.verdict, style);
    };
    add(write(style_), write({}));
  }

  void end(const agent::Optimized& optimized, const agent::RunFolder& run) {
    for (const std::string& straw : optimized.weak) add("weak task: " + straw + " passes though it is wrong\n");
    if (optimized.winner) {
      const report::Winner winner{run.winner().string(), *optimized.winner};
      add(report::winner_text(winner, style_), report::winner_text(winner, {}));
    } else {
      add(fmt::format("no winner: {}\n", optimized.no_winner));
    }
    add("run  " + run.path().string() + "\n");
    write_file(run.path() / "report.txt", text_);
  }

 private:
  void add(const std::string& text) { add(text, text); }
  void add(const std::string& shown, const std::string& kept) {
    progress_.clear();
    if (print_) print(shown);
    text_ += kept;
  }

  bool print_;
  size_t workloads_;
  Progress& progress_;
  report::Style style_;
  std::string text_;
};

int show_finished(const agent::RunFolder& run, bool json) {
  const auto result = run.read_result();
  if (!result) return refuse(result.error().text());
  const auto report = read_file(run.path() / "report.txt");
  if (json) {
    print_document(*result);
  } else {
    print(report ? *report : "the run is over; its report.txt is gone, its result.json holds the figures\n");
  }
  return result->value("winner", Json()).is_null() ? kExitNotPassed : kExitPass;
}

/// "sample 2/4 · turn 12 · best 2.31x · 45k tokens · $0.12 · fused rows".
std::string standing_text(const agent::Standing& standing) {
  const agent::Spend& spend = standing.spend;
  std::string text = standing.samples > 1 ? fmt::format("sample {}/{} · ", standing.sample + 1, standing.samples) : "";
  text += fmt::format("turn {}", spend.turns);
  if (standing.best > 0) text += fmt::format(" · best {:.2f}x", standing.best);
  if (spend.input_tokens > 0)
    text += fmt::format(" · {}k tokens", (spend.input_tokens + spend.output_tokens + 500) / 1000);
  if (spend.cost_usd > 0) text += fmt::format(" · ${:.2f}", spend.cost_usd);
  return standing.name.empty() ? text : text + " · " + standing.name;
}

agent::OptimizeSettings settings_for(const OptimizeOptions& options) {
  return {.limits = {.turns = options.turns,
                     // The writer shows its candidates nobody: what it has said is no matter.
                     .context_tokens = options.model == "builtin" ? 0 : options.context_tokens,
                     .tokens = options.tokens,
                     .wall = options.time_limit,
                     .cost_usd = options.cost_usd},
          .compact = options.compact,
          .samples = options.samples,
          .confirm_cap = options.time_cap,
          .confirm_afresh = options.model != "builtin"};
}

Result<agent::Optimized> optimize(const Sitting& sitting, const Environment& environment, Progress& progress,
                                  Report& report) {
  agent::JudgeWorkshop workshop(sitting.task,
                                {.judge = environment.judge_settings(),
                                 .interrupted = &interrupted(),
                                 .on_progress = [&](const judge::Progress& each) { progress.show(each); }});
  const agent::Observer observer{
      .on_stage = [&](const std::string& stage) { progress.begin(stage); },
      .on_reply = [&](const agent::Standing& standing) { progress.begin(standing_text(standing)); },
      .on_attempt = [&](const agent::Attempt& attempt) { report.attempt(attempt); }};
  return agent::optimize(
      workshop, sitting.task, sitting.run,
      [&] { return agent::open_model(sitting.options.model, sitting.task.name, workshop); },
      settings_for(sitting.options), &interrupted(), observer);
}

}  // namespace

int run_optimize(const OptimizeOptions& options, const Environment& environment) {
  const auto sitting = options.resume.empty() ? begin(options, environment) : go_on(options, environment);
  if (!sitting) return refuse(sitting.error().text());
  if (sitting->run.has_result()) return show_finished(sitting->run, options.json);
  const std::string how_to_go_on = "go on with: ww optimize --resume " + sitting->run.path().string();
  Progress progress;
  Report report(!options.json, sitting->task.workloads.size(), progress, environment.style());
  try {
    const auto optimized = optimize(*sitting, environment, progress, report);
    progress.clear();
    if (!optimized) return refuse(optimized.error().text());
    report.end(*optimized, sitting->run);
    if (options.json) print_document(agent::to_json(*optimized, sitting->run, sitting->task));
    return optimized->winner ? kExitPass : kExitNotPassed;
  } catch (const Fault& fault) {
    progress.clear();
    throw Fault(fault.kind(), std::string(fault.what()) + "; nothing is lost, " + how_to_go_on, fault.code());
  }
}

}  // namespace ww::cli
