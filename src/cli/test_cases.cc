// SPDX-License-Identifier: Apache-2.0
#include "cli/test_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <regex>

#include "base/child.h"
#include "base/files.h"
#include "cli/exit_code.h"

namespace ww::cli {
namespace {

/// What happened: the exit code or outcome, and all that was said.
struct Observed {
  std::string what;
  std::string text;
};

std::string expectation(const Case& entry) {
  if (entry.kind != CaseKind::kJudge) return fmt::format("exit {}", *entry.exit);
  return entry.outcome ? std::string(verdict::name(*entry.outcome)) : "refused";
}

Observed check_task(const Case& entry, judge::Judge& judge, const Environment& environment) {
  const auto task = task::load_task(entry.task, environment.tasks());
  if (!task) return {fmt::format("exit {}", int{kExitBadInput}), task.error().text()};
  const nanoseconds start = now();
  const judge::Admission admission = judge.check(*task, entry.limit, [](const judge::Progress&) {});
  const nanoseconds took = now() - start;
  if (took > entry.limit + seconds(1)) return {fmt::format("{:.1f} s of work", to_seconds(took)), ""};
  return {fmt::format("exit {}", admission.admitted ? int{kExitPass} : int{kExitBadInput}),
          fmt::format("{}; weak: {}", fmt::join(admission.problems, "; "), fmt::join(admission.weak, ", "))};
}

Observed judge_solution(const Case& entry, judge::Judge& judge, const Environment& environment) {
  const auto task = task::load_task(entry.task, environment.tasks());
  if (!task) return {"refused", task.error().text()};
  judge::Options options;
  options.timing = false;
  const auto verdict = judge.judge(*task, entry.solution, options);
  if (!verdict) return {"refused", verdict.error().text()};
  std::string text = verdict->conclusion.reason();
  for (const auto& evidence : verdict->evidence) text += "\n" + evidence.text;
  return {std::string(verdict::name(verdict->outcome())), text};
}

Observed run_program(const Case& entry, const Environment& environment) {
  std::vector<std::string> argv = {(environment.programs / "ww").string()};
  for (std::string argument : entry.arguments) {
    if (const size_t at = argument.find("{case}"); at != std::string::npos) {
      argument.replace(at, 6, entry.folder.string());
    }
    argv.push_back(std::move(argument));
  }
  const ChildResult child = run_child(argv, entry.limit);
  if (child.timed_out) return {"timed out", child.errors};
  return {fmt::format("exit {}", child.exit_code), child.output + child.errors};
}

/// What the command line alone cannot say: a full disk, Ctrl-C, a closed stream.
Observed run_script(const Case& entry, const Environment& environment) {
  const TemporaryFolder folder("ww-case");
  const ChildResult child = run_child(
      {"/bin/bash", (entry.folder / "run.sh").string(), (environment.programs / "ww").string(), folder.path().string()},
      entry.limit);
  if (child.timed_out) return {"timed out", child.output + child.errors};
  return {fmt::format("exit {}", child.exit_code), child.output + child.errors};
}

Observed observe(const Case& entry, judge::Judge& judge, const Environment& environment) {
  switch (entry.kind) {
    case CaseKind::kTaskCheck:
      return check_task(entry, judge, environment);
    case CaseKind::kJudge:
      return judge_solution(entry, judge, environment);
    case CaseKind::kCli:
      return run_program(entry, environment);
    case CaseKind::kScript:
      return run_script(entry, environment);
  }
  return {};
}

/// For one line of a table.
std::string first_line(const std::string& text) {
  constexpr size_t kCharacters = 160;
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() > kCharacters ? line.substr(0, kCharacters) + "..." : line;
}

/// For whoever has to find out why: on one line still, but with the whole of what a script prints.
std::string whole_text(std::string text) {
  constexpr size_t kCharacters = 1000;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > kCharacters) text = text.substr(0, kCharacters) + "...";
  return std::regex_replace(text, std::regex("\n"), " | ");
}

}  // namespace

CaseResult run_case(const Case& entry, judge::Judge& judge, const Environment& environment) {
  const nanoseconds start = now();
  const Observed observed = observe(entry, judge, environment);
  CaseResult result{.entry = entry, .passed = false, .note = {}, .seconds = to_seconds(now() - start)};
  const std::string expected = expectation(entry);
  const bool traceback = observed.text.find("Traceback (most recent call last)") != std::string::npos;
  if (observed.what != expected) {
    result.note = fmt::format("{} instead of {}: {}", observed.what, expected, whole_text(observed.text));
  } else if (!std::regex_search(observed.text, std::regex(entry.message))) {
    result.note = fmt::format("says nothing like /{}/: {}", entry.message, whole_text(observed.text));
  } else if (traceback) {
    result.note = "shows a traceback: " + first_line(observed.text);
  } else {
    result.passed = true;
    result.note = fmt::format("{}: {}", observed.what, first_line(observed.text));
  }
  return result;
}

}  // namespace ww::cli
