// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "base/interrupt.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/lines.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/profile.h"
#include "report/text.h"
#include "task/task.h"

namespace ww::cli {
namespace {

/// One judging that was asked for, with what it may set apart from the command line.
struct Request {
  std::string task;
  std::string solution;
  std::optional<int32_t> config;
  Json id;  ///< echoed; null if none was given
};

/// Judges request after request with everything warm.
class Stream {
 public:
  Stream(const JudgeOptions& options, const Environment& environment)
      : options_(options), environment_(environment), judge_(environment.judge_settings()) {}

  /// An Error is bad input: there is no verdict.
  Result<verdict::Verdict> judge(const Request& request) {
    stop_if_interrupted();
    auto known = tasks_.find(request.task);
    if (known == tasks_.end()) {
      auto task = task::load_task(request.task, environment_.tasks());
      if (!task) return task.error();
      known = tasks_.emplace(request.task, std::move(*task)).first;
    }
    judge::Options options{.eager = options_.timing && options_.eager,
                           .compile = options_.timing && options_.compile,
                           .compile_max = options_.timing && options_.compile_max,
                           .timing = options_.timing,
                           .time_cap = options_.time_cap,
                           .config = request.config,
                           .on_progress = {}};
    options.on_progress = [this](const judge::Progress& progress) {
      stop_if_interrupted();
      progress_.show(progress);
    };
    progress_.begin(request.task + " " + request.solution);
    auto verdict = judge_.judge(known->second, request.solution, options);
    progress_.clear();
    stop_if_interrupted();
    return verdict;
  }

  Json document(const Request& request, const verdict::Verdict& verdict) {
    Json json = verdict::to_json(verdict);
    if (options_.profile && verdict.conclusion.figures()) json["profile"] = report::to_json(profile(request, verdict));
    if (!request.id.is_null()) json["id"] = request.id;
    if (options_.reward) {
      const auto reward = reward::reward(*options_.reward, verdict);
      json["reward"] = reward ? Json(*reward) : Json();
    }
    return json;
  }

  std::string text(const Request& request, const verdict::Verdict& verdict) {
    const size_t workloads = tasks_.at(request.task).workloads.size();
    std::string text = options_.profile
                           ? report::profile_text(verdict, profile(request, verdict), workloads, environment_.style())
                           : report::verdict_text(verdict, workloads, environment_.style());
    if (options_.reward) {
      const auto reward = reward::reward(*options_.reward, verdict);
      text += reward ? fmt::format("reward ({}): {}\n", reward::name(*options_.reward), *reward)
                     : fmt::format("reward ({}): none\n", reward::name(*options_.reward));
    }
    return options_.solutions.size() > 1 ? fmt::format("{}: {}", request.solution, text) : text;
  }

 private:
  report::Profile profile(const Request& request, const verdict::Verdict& verdict) {
    if (!verdict.conclusion.figures()) return {};
    if (!roofline_) {
      const auto found = judge_.roofline(tasks_.at(request.task));
      // The task was just judged: a refusal now is no reason to withhold the times.
      roofline_ = found ? *found : judge::Roofline{};
    }
    std::vector<report::WorkloadWork> work;
    for (const judge::Work& each : roofline_->work) work.push_back({each.workload, each.bytes, each.flops});
    return report::profile_of(verdict, {roofline_->copy_gb_per_s, roofline_->fma_gflop_per_s}, work);
  }

  const JudgeOptions& options_;
  const Environment& environment_;
  judge::Judge judge_;
  Progress progress_;
  std::map<std::string, task::Task> tasks_;
  std::optional<judge::Roofline> roofline_;  ///< of the one task that a profile has
};

int exit_code_of(const verdict::Verdict& verdict) {
  if (verdict.passed()) return kExitPass;
  return verdict.outcome() == verdict::Outcome::kNoVerdict ? kExitFault : kExitNotPassed;
}

Result<Request> parse_request(const Lines::Line& line, const std::string& where, const JudgeOptions& options) {
  if (line.too_long) return Error{fmt::format("is longer than {} bytes", kLongestLine), where};
  const auto json = parse_json(line.text, where);
  if (!json) return line.cut ? Error{"the input ended within it: " + json.error().message, where} : json.error();
  if (!json->is_object()) return Error{"a request is an object with \"task\" and \"solution\"", where};
  Request request{.task = "", .solution = "", .config = options.config, .id = Json()};
  for (const auto& [key, value] : json->items()) {
    if (key == "task" && value.is_string()) {
      request.task = value;
    } else if (key == "solution" && value.is_string()) {
      request.solution = value;
    } else if (key == "config" && value.is_number_integer() && value >= 0 && value <= 1 << 20) {
      request.config = value.get<int32_t>();
    } else if (key == "id") {
      request.id = value;
    } else {
      return Error{"\"" + key + "\" is unknown or of the wrong type; there are task, solution, config, id", where};
    }
  }
  if (request.task.empty()) return Error{"\"task\" is missing", where};
  if (request.solution.empty()) return Error{"\"solution\" is missing", where};
  return request;
}

/// One line of JSON in, one out, in order. Bad lines are answered and counted, and the stream goes on.
int judge_lines(const JudgeOptions& options, const Environment& environment) {
  Stream stream(options, environment);
  int exit_code = kExitPass;
  int number = 0;
  Lines lines(STDIN_FILENO);
  while (const auto line = lines.next()) {
    number++;
    if (!line->too_long && line->text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto request = parse_request(*line, fmt::format("line {}", number), options);
    const auto verdict = request ? stream.judge(*request) : Result<verdict::Verdict>(request.error());
    if (verdict) {
      print_line(stream.document(*request, *verdict));
      exit_code = std::max(exit_code, exit_code_of(*verdict));
      continue;
    }
    Json answer = {{"error", verdict.error().text()}, {"line", number}};
    if (request && !request->id.is_null()) answer["id"] = request->id;
    print_line(answer);
    exit_code = std::max<int>(exit_code, kExitBadInput);
  }
  return exit_code;
}

}  // namespace

int refuse(const std::string& text) {
  std::cerr << "ww: " << text << "\n";
  return kExitBadInput;
}

int run_judge(const JudgeOptions& options, const Environment& environment) {
  if (options.task.empty()) {
    if (::isatty(STDIN_FILENO)) return refuse("judge needs TASK and SOLUTION, or requests as JSON lines on stdin");
    return judge_lines(options, environment);
  }
  Stream stream(options, environment);
  int exit_code = kExitPass;
  for (const std::string& solution : options.solutions) {
    const Request request{.task = options.task, .solution = solution, .config = options.config, .id = Json()};
    const auto verdict = stream.judge(request);
    if (!verdict) {
      exit_code = std::max<int>(exit_code, refuse(verdict.error().text()));
      continue;
    }
    if (!options.json) {
      print(stream.text(request, *verdict));
    } else if (options.solutions.size() == 1) {
      print_document(stream.document(request, *verdict));
    } else {
      print_line(stream.document(request, *verdict));
    }
    exit_code = std::max(exit_code, exit_code_of(*verdict));
  }
  return exit_code;
}

}  // namespace ww::cli
