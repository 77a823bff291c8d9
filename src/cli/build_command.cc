// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/interrupt.h"
#include "base/json.h"
#include "build/builder.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "task/task.h"

namespace ww::cli {
namespace {

std::string_view kind_name(build::Failure::Kind kind) {
  switch (kind) {
    case build::Failure::Kind::kBadInput:
      return "bad_input";
    case build::Failure::Kind::kBuildError:
      return "build_error";
    case build::Failure::Kind::kForbidden:
      return "forbidden";
  }
  return "";
}

Json to_json(const std::string& solution, const build::BuildResult& built, nanoseconds took) {
  Json json = {{"solution", solution}, {"id", built.solution_id}, {"took_s", to_seconds(took)}};
  if (const build::Failure* failure = built.failure()) {
    json["outcome"] = kind_name(failure->kind);
    json["reason"] = failure->text;
    return json;
  }
  const build::Artifact& artifact = *built.artifact();
  json["outcome"] = "built";
  json["artifact"] = {{"path", artifact.path.string()},  {"id", artifact.id},         {"bytes", artifact.bytes},
                      {"compile_s", artifact.compile_s}, {"cached", artifact.cached}, {"needs", artifact.needs}};
  return json;
}

std::string to_text(const std::string& solution, const build::BuildResult& built, nanoseconds took) {
  if (const build::Failure* failure = built.failure()) {
    return fmt::format("{}   {}\n{}\n", solution, kind_name(failure->kind), failure->text);
  }
  return fmt::format("{}   built in {:.3f} s{}   {}\n", solution, to_seconds(took),
                     built.artifact()->cached ? " (unchanged)" : "", built.artifact()->path.string());
}

int exit_code_of(const build::BuildResult& built) {
  if (!built.failure()) return kExitPass;
  return built.failure()->kind == build::Failure::Kind::kBadInput ? kExitBadInput : kExitNotPassed;
}

}  // namespace

int run_build(const BuildOptions& options, const Environment& environment) {
  task::Contract contract;
  if (!options.task.empty()) {
    const auto task = task::load_task(options.task, environment.tasks());
    if (!task) return refuse(task.error().text());
    contract = task->contract;
  }
  const build::Builder builder(environment.judge_settings().build());
  int exit_code = kExitPass;
  for (const std::string& solution : options.solutions) {
    stop_if_interrupted();
    const nanoseconds start = now();
    const build::BuildResult built = builder.build(solution, contract);
    const nanoseconds took = now() - start;
    if (!options.json) {
      print(to_text(solution, built, took));
    } else if (options.solutions.size() == 1) {
      print_document(to_json(solution, built, took));
    } else {
      print_line(to_json(solution, built, took));
    }
    exit_code = std::max(exit_code, exit_code_of(built));
  }
  return exit_code;
}

}  // namespace ww::cli
