// SPDX-License-Identifier: Apache-2.0
#include "agent/judge_workshop.h"

#include <fmt/format.h>

#include "agent/module_export.h"
#include "base/files.h"
#include "base/json.h"
#include "judge/python_sandbox.h"
#include "sandbox/sandbox.h"

namespace ww::agent {
namespace {

constexpr uint64_t kTrialMemoryBytes = 8ull << 30;  // torch, and inputs, weights and outputs several times over

/// Python with torch and our package on its path, seeing `folder` and nothing else of the user's.
sandbox::Spec python_spec(const judge::Settings& settings, const fs::path& folder, milliseconds limit) {
  sandbox::Spec spec;
  // -I would leave out the package folder; the environment is empty and the working folder holds nothing.
  spec.argv = {fs::absolute(settings.python).string(), "-m", "warpwright.try_module"};
  spec.env = {"PYTHONPATH=" + settings.python_package.string(), "PYTHONDONTWRITEBYTECODE=1", "HOME=/tmp",
              "PATH=/usr/bin:/bin"};
  sandbox::add_system(spec);
  judge::add_python(spec, fs::absolute(settings.python));
  spec.mounts.push_back({.host = settings.python_package});
  spec.mounts.push_back({.host = folder});
  spec.limits.memory_bytes = kTrialMemoryBytes;
  spec.limits.wall = limit;
  return spec;
}

}  // namespace

JudgeWorkshop::JudgeWorkshop(const task::Task& task, JudgeWorkshopSettings settings)
    : task_(task),
      settings_(std::move(settings)),
      judge_(std::make_unique<judge::Judge>(settings_.judge)),
      builder_(settings_.judge.build()) {}

void JudgeWorkshop::start_afresh() {
  judge_.reset();  // first: two referees at once would hold torch twice
  judge_ = std::make_unique<judge::Judge>(settings_.judge);
}

std::vector<sandbox::Mount> JudgeWorkshop::shell_mounts() const { return {{.host = settings_.judge.include_folder}}; }

std::vector<std::string> JudgeWorkshop::shell_environment() const {
  return {"CPATH=" + settings_.judge.include_folder.string()};
}

void JudgeWorkshop::stop_if_asked() const {
  if (settings_.interrupted && *settings_.interrupted) throw Fault(Fault::Kind::kInterrupted, "interrupted");
}

void JudgeWorkshop::report(const judge::Progress& progress) const {
  stop_if_asked();
  if (settings_.on_progress) settings_.on_progress(progress);
}

judge::Admission JudgeWorkshop::admit() {
  return judge_->check(task_, settings_.admission_limit, [this](const judge::Progress& progress) { report(progress); });
}

Result<std::vector<Json>> JudgeWorkshop::capture() { return judge_->capture(task_); }

Result<Json> JudgeWorkshop::describe() { return judge_->describe(task_); }

Built JudgeWorkshop::build(const fs::path& solution) {
  stop_if_asked();
  const nanoseconds start = now();
  const build::BuildResult built = builder_.build(solution, task_.contract);
  if (const build::Failure* failure = built.failure()) {
    return {.ok = false, .diagnostics = failure->text, .cached = false, .elapsed = now() - start};
  }
  return {.ok = true, .library = built.artifact()->path, .cached = built.artifact()->cached, .elapsed = now() - start};
}

Result<verdict::Verdict> JudgeWorkshop::judge(const fs::path& solution, const JudgeRequest& request) {
  judge::Options options;
  options.compile = request.timing && request.compile;
  options.eager = request.timing;
  options.timing = request.timing;
  options.time_cap = request.time_cap.value_or(settings_.explore_cap);
  options.config = request.config;
  options.on_progress = [this](const judge::Progress& progress) { report(progress); };
  auto verdict = judge_->judge(task_, solution, options);
  // Once may be an accident; twice is a machine on which nothing can be found out, and no verdict to go on from.
  if (verdict && verdict->outcome() == verdict::Outcome::kNoVerdict) verdict = judge_->judge(task_, solution, options);
  if (verdict && verdict->outcome() == verdict::Outcome::kNoVerdict) {
    throw Fault(Fault::Kind::kSystem, verdict->conclusion.reason());
  }
  // A terminal's Ctrl-C reaches the other processes too: what they gave from then on says nothing.
  stop_if_asked();
  return verdict;
}

Status JudgeWorkshop::try_module(const fs::path& folder) {
  stop_if_asked();
  const fs::path absolute = fs::absolute(folder);
  const auto ended = sandbox::run(python_spec(settings_.judge, absolute, settings_.module_limit),
                                  trial_request(absolute, task_).dump());
  if (!ended.ok()) {
    return Error{fmt::format("the trial ended as {} (exit code {}): {}", sandbox::name(ended.how), ended.exit_code,
                             ended.errors),
                 ""};
  }
  const auto reply = parse_json(ended.output, "the trial's reply");
  if (!reply) return reply.error();
  if (!reply->is_object() || !reply->contains("problems") || !(*reply)["problems"].is_array()) {
    return Error{"the trial's reply has no problems", ""};
  }
  std::string problems;
  for (const Json& problem : (*reply)["problems"]) {
    problems += (problems.empty() ? "" : "; ") + (problem.is_string() ? problem.get<std::string>() : problem.dump());
  }
  if (!problems.empty()) return Error{problems, ""};
  return Unit{};
}

}  // namespace ww::agent
