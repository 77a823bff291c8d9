// SPDX-License-Identifier: Apache-2.0
#include "cli/test_attacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace ww::cli {

std::string_view name(Standing standing) {
  switch (standing) {
    case Standing::kRejected:
      return "rejected";
    case Standing::kAccepted:
      return "ACCEPTED";
    case Standing::kUnexpected:
      return "UNEXPECTED";
    case Standing::kPassed:
      return "passed";
    case Standing::kRefused:
      return "REJECTED";
    case Standing::kNoVerdict:
      return "no_verdict";
    case Standing::kNotJudged:
      return "NOT JUDGED";
  }
  return "";
}

bool is_failure(Standing standing) {
  return standing != Standing::kRejected && standing != Standing::kPassed && standing != Standing::kNoVerdict;
}

bool gains(const verdict::Verdict& attack, const verdict::Ratio& control) {
  return attack.conclusion.figures()->speedup.eager->low > kAcceptedGain * control.ratio;
}

Standing standing_of(const CorpusEntry& entry, verdict::Outcome outcome) {
  if (outcome == verdict::Outcome::kNoVerdict) return Standing::kNoVerdict;
  const bool passed = outcome == verdict::Outcome::kPass;
  if (!entry.hostile) return passed ? Standing::kPassed : Standing::kRefused;
  if (passed && entry.forbidden_act) return Standing::kAccepted;
  const bool listed = std::count(entry.outcomes.begin(), entry.outcomes.end(), outcome) > 0;
  return listed ? Standing::kRejected : Standing::kUnexpected;
}

std::vector<CorpusEntry> in_judging_order(std::vector<CorpusEntry> twins, std::vector<CorpusEntry> attacks) {
  std::vector<CorpusEntry> all = std::move(twins);
  std::move(attacks.begin(), attacks.end(), std::back_inserter(all));
  const auto key = [](const CorpusEntry& entry) {
    return std::tie(entry.task, entry.hostile, entry.workloads, entry.name);
  };
  // A control with other workloads than its attack is still of the same task, and twins come first within a task.
  std::stable_sort(all.begin(), all.end(), [&](const CorpusEntry& a, const CorpusEntry& b) { return key(a) < key(b); });
  return all;
}

CorpusRun::CorpusRun(judge::Judge& judge, fs::path repository, std::function<void(const judge::Progress&)> on_progress)
    : judge_(judge), repository_(std::move(repository)), on_progress_(std::move(on_progress)) {}

CorpusResult CorpusRun::judge(const CorpusEntry& entry) {
  const nanoseconds start = now();
  CorpusResult result{.entry = entry, .standing = Standing::kNotJudged, .note = {}, .verdict = {}, .control = {}};
  const auto finish = [&] {
    result.seconds = to_seconds(now() - start);
    if (!entry.hostile) twins_[entry.name] = result;
    return result;
  };
  const auto task = load_entry_task(entry, repository_);
  if (!task) {
    result.note = task.error().text();
    return finish();
  }
  for (int i = 0; i < entry.judgings; i++) {
    auto verdict = judge_once(*task, entry);
    if (!verdict) {
      result.note = verdict.error().text();
      return finish();
    }
    result.verdict = std::move(*verdict);
  }
  result.standing = standing_of(entry, result.verdict->outcome());
  result.note = result.verdict->conclusion.reason();
  if (entry.hostile && result.verdict->passed() && result.standing == Standing::kRejected) {
    compare_with_control(*task, result);
  }
  return finish();
}

Result<verdict::Verdict> CorpusRun::judge_once(const task::Task& task, const CorpusEntry& entry) {
  judge::Options options;
  options.time_cap = entry.time_cap;
  options.on_progress = on_progress_;
  return judge_.judge(task, entry.folder, options);
}

void CorpusRun::compare_with_control(const task::Task& task, CorpusResult& result) {
  const auto twin = twins_.find(result.entry.control);
  if (twin == twins_.end() || !twin->second.verdict || !twin->second.verdict->passed()) {
    result.standing = Standing::kNotJudged;
    result.note = "its control " + result.entry.control + " has not passed in this run";
    return;
  }
  CorpusEntry control = twin->second.entry;
  control.workloads = result.entry.workloads;
  result.control = twin->second.verdict->conclusion.figures()->speedup.eager;
  for (int again = 0; gains(*result.verdict, *result.control); again++) {
    if (again == 1) {
      result.standing = Standing::kAccepted;
      break;
    }
    // One lucky judging in a hundred is chance: both sides once more.
    auto control_verdict = judge_once(task, control);
    auto verdict = judge_once(task, result.entry);
    if (!control_verdict || !verdict || !control_verdict->passed() || !verdict->passed()) break;
    result.control = control_verdict->conclusion.figures()->speedup.eager;
    result.verdict = std::move(*verdict);
  }
  const verdict::Ratio& own = *result.verdict->conclusion.figures()->speedup.eager;
  result.note = fmt::format("{:.2f}x eager [{:.2f}, {:.2f}], its honest control {:.2f}x [{:.2f}, {:.2f}]", own.ratio,
                            own.low, own.high, result.control->ratio, result.control->low, result.control->high);
}

}  // namespace ww::cli
