// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <sstream>

#include "agent/open_model.h"
#include "cli/budget.h"
#include "cli/exit_code.h"
#include "task/nearest_name.h"

namespace ww::cli {
namespace {

constexpr const char* kAbout =
    "warpwright turns a PyTorch module into a faster kernel that is proven right.\n"
    "TASK is a file, a folder or a name under tasks/; SOLUTION is a folder with kernels/*.cpp.";

constexpr const char* kMainExamples =
    "First steps:\n"
    "  ww doctor                                     what this machine can do, and what is missing\n"
    "  ww tasks list                                 the tasks that come along\n"
    "  ww optimize tasks/gelu_layernorm              make one faster; the winner lies in ./runs\n"
    "  ww judge tasks/softmax my_softmax             is it right, and how fast?\n"
    "  ww VERB --help                                flags and examples of a verb\n\n"
    "Exit status: 0 pass; 1 judged, not passed; 2 usage or bad input; 3 fault of ours or the machine's;\n"
    "130 interrupted. Results go to stdout, progress to stderr.";

constexpr const char* kJudgeExamples =
    "Examples:\n"
    "  ww judge tasks/softmax my_softmax                            one verdict, with times against eager\n"
    "  ww judge tasks/softmax a b c --baseline eager,compile        three verdicts, everything warm\n"
    "  ww judge tasks/softmax my_softmax --json                     the whole verdict as one JSON document\n"
    "  ww judge --reward milestone < requests.jsonl                 a line {\"task\": ..., \"solution\": ...} in,\n"
    "                                                               a verdict with \"reward\" out, in order";

constexpr const char* kOptimizeExamples =
    "Examples:\n"
    "  ww optimize tasks/gelu_layernorm                             the builtin writer: no LLM, no network\n"
    "  ww optimize my_model.py --json                               winner, verdict, tried, run\n"
    "  ww optimize --resume runs/gelu_layernorm-7f3a                go on after Ctrl-C or a crash\n"
    "  ww optimize tasks/softmax --model script:replies.jsonl       replies from a file";

struct Options {
  DoctorOptions doctor;
  TasksOptions tasks;
  BuildOptions build;
  JudgeOptions judge;
  OptimizeOptions optimize;
  EpisodesOptions episodes;
  TestOptions test;
  std::vector<std::string> baselines = {"eager"};
  std::string reward, budget, device = "cpu";
  double time_cap_s = 2, time_limit_s = 3600;
  int config = -1;
  bool yes = false;
};

/// A check whose range or choices the help text does not repeat beside the flag.
CLI::Validator unshown(CLI::Validator check) { return check.description(""); }

void add_json(CLI::App* verb, bool& json) { verb->add_flag("--json", json, "Results as JSON on stdout"); }

void add_device(CLI::App* verb, Options& options) {
  verb->add_option("--device", options.device, "Where to run: cpu")
      ->type_name("DEVICE")
      ->check(unshown(CLI::IsMember({"cpu"})))
      ->capture_default_str();
}

void add_time_cap(CLI::App* verb, Options& options) {
  verb->add_option("--time-cap", options.time_cap_s, "Seconds for judging one workload: checks and timing")
      ->type_name("SECONDS")
      ->check(unshown(CLI::Range(0.01, 600.0)))
      ->capture_default_str();
}

/// What judge, verify and profile share.
CLI::App* add_judging(CLI::App& app, const std::string& name, const std::string& about, Options& options) {
  CLI::App* verb = app.add_subcommand(name, about);
  verb->add_option("TASK", options.judge.task, "What is to be computed")->type_name("");
  verb->add_option("SOLUTION", options.judge.solutions, "Folders with kernels/*.cpp")->type_name("");
  verb->add_option("--config", options.config, "Judge this config only, without tuning")
      ->type_name("N")
      ->check(unshown(CLI::Range(0, 1 << 20)));
  add_device(verb, options);
  add_json(verb, options.judge.json);
  return verb;
}

void add_timed(CLI::App* verb, Options& options) {
  verb->add_option("--baseline", options.baselines, "Sides to time: eager, compile, compile_max")
      ->type_name("LIST")
      ->delimiter(',')
      ->check(unshown(CLI::IsMember({"eager", "compile", "compile_max"})))
      ->capture_default_str();
  verb->add_option("--reward", options.reward, "Add this reward: milestone or speedup")
      ->type_name("KIND")
      ->check(unshown(CLI::IsMember({"milestone", "speedup"})));
  add_time_cap(verb, options);
}

void add_optimize(CLI::App& app, Options& options) {
  CLI::App* verb = app.add_subcommand("optimize", "Make a task faster: an agent writes kernels, the judge decides");
  verb->add_option("TASK", options.optimize.task, "What is to be made faster")->type_name("");
  verb->add_option("--model", options.optimize.model, "What writes the kernels: builtin or script:FILE")
      ->type_name("MODEL")
      ->capture_default_str();
  verb->add_option("--turns", options.optimize.turns, "Most replies of the model")
      ->type_name("N")
      ->check(unshown(CLI::Range(1, 100'000)))
      ->capture_default_str();
  verb->add_option("--time-limit", options.time_limit_s, "Most seconds for the agent")
      ->type_name("SECONDS")
      ->check(unshown(CLI::Range(1.0, 1e7)))
      ->capture_default_str();
  verb->add_option("--budget", options.budget,
                   "Most of each sample: turns=N,tokens=N,time=SECONDS,cost=USD, any of them")
      ->type_name("LIMITS");
  verb->add_option("--context", options.optimize.context_tokens, "Most tokens that the model is shown; 0: no limit")
      ->type_name("TOKENS")
      ->check(unshown(CLI::Range(int64_t{0}, int64_t{100'000'000})))
      ->capture_default_str();
  verb->add_flag("--compact", options.optimize.compact, "Where the context is full, go on once from a summary");
  verb->add_option("--samples", options.optimize.samples, "Episodes beside each other; the best attempt of all wins")
      ->type_name("N")
      ->check(unshown(CLI::Range(1, 64)))
      ->capture_default_str();
  add_time_cap(verb, options);
  verb->add_option("--run", options.optimize.run, "The run folder to make (default: runs/TASK-xxxx)")
      ->type_name("FOLDER");
  verb->add_option("--resume", options.optimize.resume, "Go on with this run folder")->type_name("FOLDER");
  verb->add_flag("--yes", options.yes, "Install what is missing without asking (first use)");
  add_device(verb, options);
  add_json(verb, options.optimize.json);
  verb->footer(kOptimizeExamples);
}

void add_episodes(CLI::App& app, Options& options) {
  CLI::App* episodes = app.add_subcommand("episodes", "What agents did");
  episodes->require_subcommand(1);
  CLI::App* list = episodes->add_subcommand("list", "The episodes under a folder of runs");
  list->add_option("RUNS", options.episodes.where, "Folder of runs")->type_name("")->capture_default_str();
  add_json(list, options.episodes.json);
  CLI::App* show = episodes->add_subcommand("show", "What was said and done in an episode, turn by turn");
  show->add_option("RUN", options.episodes.where, "A run folder or an episode file")->type_name("")->required();
  CLI::App* replay = episodes->add_subcommand("replay", "Carry out a run's calls again without the model, and compare");
  replay->add_option("RUN", options.episodes.where, "A run folder")->type_name("")->required();
  CLI::App* rows = episodes->add_subcommand("export", "Episodes as JSON lines for trainers, on stdout");
  rows->add_option("RUNS", options.episodes.where, "A folder of runs, a run folder or an episode file")
      ->type_name("")
      ->required();
  rows->add_option("--format", options.episodes.format, "sft (chat messages with tools), verl or slime")
      ->type_name("FORMAT")
      ->check(unshown(CLI::IsMember({"sft", "verl", "slime"})))
      ->capture_default_str();
  rows->add_option("--reward", options.episodes.reward, "Reward of the rows: milestone or speedup")
      ->type_name("KIND")
      ->check(unshown(CLI::IsMember({"milestone", "speedup"})))
      ->capture_default_str();
  rows->add_flag("--passed", options.episodes.passed, "Only episodes with a solution that passed and was timed");
}

void add_test(CLI::App& app, Options& options) {
  CLI::App* verb = app.add_subcommand("test", "Judge the corpora under tests/ and count");
  verb->add_flag("--attacks", options.test.attacks, "Hostile solutions and their honest twins, all of them");
  verb->add_flag("--cases", options.test.cases, "Tasks and solutions with known verdicts");
  verb->add_flag("--sandbox", options.test.sandbox, "Attempts to get out of the sandbox");
  verb->add_flag("--quick", options.test.quick, "Cases, and a quick part of the attacks");
  verb->add_option("--filter", options.test.filter, "Only names that match this regular expression")
      ->type_name("REGEX");
  verb->add_option("--passes", options.test.passes, "Judge the attacks so many times")
      ->type_name("N")
      ->check(unshown(CLI::Range(1, 1000)));
  add_json(verb, options.test.json);
}

void add_verbs(CLI::App& app, Options& options) {
  CLI::App* doctor = app.add_subcommand("doctor", "What this machine can do, what is missing, and how to get it");
  add_json(doctor, options.doctor.json);

  CLI::App* tasks = app.add_subcommand("tasks", "List tasks, or check that they can be judged");
  tasks->require_subcommand(1);
  CLI::App* list = tasks->add_subcommand("list", "The tasks under tasks/");
  add_json(list, options.tasks.json);
  CLI::App* check = tasks->add_subcommand("check", "Run the reference and judge straw solutions");
  check->add_option("TASK", options.tasks.tasks, "Tasks to check (default: all under tasks/)")->type_name("");
  add_json(check, options.tasks.json);
  check->footer(
      "Examples:\n  ww tasks check my_model.py\n  ww tasks check tasks/softmax --json\n\n"
      "Exit status: 0 fit to be judged; 1 weak: a straw solution passes; 2 refused, with the reason.");

  CLI::App* build = app.add_subcommand("build", "Compile a solution in the sandbox");
  build->add_option("SOLUTION", options.build.solutions, "Folders with kernels/*.cpp")->type_name("")->required();
  build->add_option("--task", options.build.task, "Take what may be linked from this task's contract")
      ->type_name("TASK");
  add_json(build, options.build.json);

  CLI::App* judge = add_judging(app, "judge", "Is a solution right, and how fast? One verdict a solution", options);
  add_timed(judge, options);
  judge->footer(kJudgeExamples);
  CLI::App* verify = add_judging(app, "verify", "Is a solution right? Correctness alone, no times", options);
  verify->footer("Example:\n  ww verify tasks/softmax my_softmax");
  CLI::App* profile = add_judging(
      app, "profile", "Where a solution stands: times against both baselines, roofline position, hints", options);
  add_time_cap(profile, options);
  profile->footer("Example:\n  ww profile tasks/softmax my_softmax --config 1");

  add_optimize(app, options);
  add_episodes(app, options);
  add_test(app, options);
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The first word that is neither a verb nor a flag of its verb, with the nearest that is; "" where there is none.
std::string misspelling(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* verb = &app;
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.starts_with("--")) {
      const std::string name = argument.substr(0, argument.find('='));
      const auto known = flag_names(*verb);
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        return "unknown flag " + name + task::did_you_mean(name, known);
      }
    } else if (const auto verbs = verb_names(*verb); !verbs.empty() && !argument.starts_with("-")) {
      if (std::find(verbs.begin(), verbs.end(), argument) == verbs.end()) {
        return "unknown verb " + argument + task::did_you_mean(argument, verbs);
      }
      verb = verb->get_subcommand(argument);
    }
  }
  return "";
}

Said usage_error(const std::string& text) {
  return {kExitBadInput, "ww: " + text + "\nRun with --help for more information.\n"};
}

/// A range lets NaN through: every comparison with it is false.
std::string not_finite(const Options& options) {
  if (!std::isfinite(options.time_cap_s)) return "--time-cap is not a number of seconds";
  return std::isfinite(options.time_limit_s) ? "" : "--time-limit is not a number of seconds";
}

milliseconds to_milliseconds(double value_s) { return milliseconds(static_cast<int64_t>(value_s * 1000)); }

std::variant<Verb, Said> judging_verb(Options& options, const std::string& name) {
  JudgeOptions& judge = options.judge;
  const auto wants = [&](const char* side) {
    return std::find(options.baselines.begin(), options.baselines.end(), side) != options.baselines.end();
  };
  judge.timing = name != "verify";
  judge.profile = name == "profile";
  judge.compile = name == "profile" || wants("compile");
  judge.compile_max = wants("compile_max");
  judge.eager = name == "profile" || wants("eager") || judge.compile;
  if (const auto wrong = not_finite(options); !wrong.empty()) return usage_error(wrong);
  judge.reward = reward::kind_from_name(options.reward);
  judge.time_cap = to_milliseconds(options.time_cap_s);
  if (options.config >= 0) judge.config = options.config;
  if (judge.task.empty() && name != "judge") return usage_error(name + " needs TASK and SOLUTION");
  if (!judge.task.empty() && judge.solutions.empty()) return usage_error(name + " needs a SOLUTION after the TASK");
  return Verb([judge](const Environment& environment) { return run_judge(judge, environment); });
}

std::variant<Verb, Said> optimize_verb(Options& options) {
  OptimizeOptions& optimize = options.optimize;
  if (const auto wrong = not_finite(options); !wrong.empty()) return usage_error(wrong);
  optimize.time_cap = to_milliseconds(options.time_cap_s);
  optimize.time_limit = seconds(static_cast<int64_t>(options.time_limit_s));
  if (auto sound = apply_budget(options.budget, optimize); !sound)
    return usage_error("--budget " + sound.error().text());
  if (optimize.task.empty() == optimize.resume.empty())
    return usage_error("optimize needs either a TASK or --resume RUN");
  if (!agent::is_model_name(optimize.model)) {
    return usage_error("--model " + optimize.model + " is unknown; there are builtin and script:FILE");
  }
  return Verb([optimize](const Environment& environment) { return run_optimize(optimize, environment); });
}

std::variant<Verb, Said> verb_of(const CLI::App& app, Options& options) {
  const CLI::App* verb = app.get_subcommands().front();
  const std::string name = verb->get_name();
  if (name == "judge" || name == "verify" || name == "profile") return judging_verb(options, name);
  if (name == "optimize") return optimize_verb(options);
  if (name == "doctor") return Verb([o = options.doctor](const Environment& e) { return run_doctor(o, e); });
  if (name == "build") return Verb([o = options.build](const Environment& e) { return run_build(o, e); });
  if (name == "episodes") {
    const std::string what = verb->get_subcommands().front()->get_name();
    const auto run = what == "list"     ? run_episodes_list
                     : what == "show"   ? run_episodes_show
                     : what == "replay" ? run_episodes_replay
                                        : run_episodes_export;
    return Verb([o = options.episodes, run](const Environment& e) { return run(o, e); });
  }
  if (name == "tasks") {
    const bool list = verb->get_subcommands().front()->get_name() == "list";
    return Verb([o = options.tasks, list](const Environment& e) {
      return list ? run_tasks_list(o, e) : run_tasks_check(o, e);
    });
  }
  return Verb([o = options.test](const Environment& e) { return run_test(o, e); });
}

}  // namespace

std::variant<Verb, Said> parse_command_line(const std::vector<std::string>& arguments) {
  Options options;
  CLI::App app(kAbout, "ww");
  app.set_version_flag("--version", WW_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(30);
  app.footer(kMainExamples);
  add_verbs(app, options);
  if (arguments.empty()) return Said{kExitBadInput, app.help()};
  if (const std::string wrong = misspelling(app, arguments); !wrong.empty()) return usage_error(wrong);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    app.exit(help, text, text);
    return Said{kExitPass, text.str()};
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  return verb_of(app, options);
}

}  // namespace ww::cli
