// SPDX-License-Identifier: Apache-2.0
#include "agent/fake_workshop.h"

#include "base/fault.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"

namespace ww::agent {
namespace {

verdict::SideTime side(double time_us) {
  return {.statistic = "p25",
          .time_us = time_us,
          .low_us = time_us * 0.98,
          .high_us = time_us * 1.02,
          .base_us = 20,
          .error_us = 1,
          .samples = 100,
          .discarded = 0};
}

verdict::Ratio ratio(double value) { return {.ratio = value, .low = value * 0.98, .high = value * 1.02}; }

}  // namespace

verdict::Verdict example_verdict(double speedup, const JudgeRequest& request) {
  verdict::Times times{.solution = side(1000 / speedup), .eager = side(1000), .compile = {}, .compile_max = {}};
  verdict::Speedup speedups{.eager = ratio(speedup), .compile = {}};
  if (request.compile) {
    times.compile = side(800);
    speedups.compile = ratio(speedup * 0.8);
  }
  verdict::Verdict verdict;
  verdict::WorkloadVerdict workload;
  workload.name = "default";
  workload.inputs = {{.name = "x", .shape = {8, 16}}};
  workload.outputs = {{.name = "out", .shape = {8, 16}}};
  workload.config = request.config.value_or(1);
  workload.trials = {.checked = 120, .timed = 100, .honey = 9, .worst_error = 0.3, .first_failure = {}};
  std::optional<verdict::WorkloadTiming> figures;
  std::optional<verdict::Timing> total;
  if (request.timing) {
    figures = verdict::WorkloadTiming{.times = times, .speedup = speedups, .prepare_us = {}};
    total = verdict::Timing{.times = times, .speedup = speedups};
  }
  workload.conclusion = verdict::Conclusion<verdict::WorkloadTiming>::pass(figures);
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::pass(total);
  verdict.workloads = {workload};
  verdict.trials = workload.trials;
  verdict.task = {.name = "gelu_layernorm", .id = std::string(64, 'a')};
  verdict.solution = {.path = "solution", .format = "native", .id = std::string(64, 'b')};
  verdict.judge = {.version = "1", .torch = "2.11.0", .statistic = "p25", .time_cap_s = 2};
  verdict.device = {.name = "cpu", .model = "a processor", .features = "AVX2", .cores = 2, .threads = 2, .other = {}};
  verdict.contract = R"({"precision":"fp32"})";
  verdict.isolation = {.level = "full", .layers = {"seccomp"}, .missing = {}};
  verdict.elapsed_s = 1.5;
  return verdict;
}

std::string FakeWorkshop::source(const fs::path& solution) {
  const auto text = read_file(solution / "kernels" / "solution.cpp");
  return text ? *text : "";
}

judge::Admission FakeWorkshop::admit() {
  judge::Admission admission;
  admission.admitted = refusal.empty();
  if (!refusal.empty()) admission.problems = {refusal};
  return admission;
}

Result<std::vector<Json>> FakeWorkshop::capture() { return Error{"there is no graph", "fake"}; }

Result<Json> FakeWorkshop::describe() {
  const Json leaf = {{"kind", "tensor"}, {"index", 0}};
  return Json::array({{{"inputs", {{{"name", "x"}, {"dtype", "float32"}, {"shape", {8, 16}}}}},
                       {"weights", Json::array()},
                       {"outputs", {{{"name", "out"}, {"dtype", "float32"}, {"shape", {8, 16}}}}},
                       {"mutates", Json::array()},
                       {"init", Json::array()},
                       {"tree", leaf},
                       {"input_tree", {{"kind", "tuple"}, {"items", {leaf}}}}}});
}

Status FakeWorkshop::try_module(const fs::path&) {
  if (!module_problem.empty()) return Error{module_problem, ""};
  return Unit{};
}

Built FakeWorkshop::build(const fs::path& solution) {
  const std::string text = source(solution);
  const bool ok = text.find("speed=") != std::string::npos || text.find("wrong") != std::string::npos;
  return {.ok = ok,
          .diagnostics = ok ? "" : "error: expected a speed",
          .library = solution / "kernels" / "solution.cpp",
          .cached = false,
          .elapsed = milliseconds(5)};
}

Result<verdict::Verdict> FakeWorkshop::judge(const fs::path& solution, const JudgeRequest& request) {
  judgings++;
  const std::string text = source(solution);
  if (text.find("fault") != std::string::npos) throw Fault(Fault::Kind::kDisk, "the disk is full");
  if (text.find("interrupt") != std::string::npos) throw Fault(Fault::Kind::kInterrupted, "interrupted");
  const size_t at = text.find("speed=");
  verdict::Verdict verdict = example_verdict(at == std::string::npos ? 1 : std::stod(text.substr(at + 6)), request);
  verdict.solution.id = sha256_hex(text);
  const bool out_of_luck = text == lucky_once && !lucky_.insert(text).second;
  if (at == std::string::npos || out_of_luck) {
    const bool builds = out_of_luck || text.find("wrong") != std::string::npos;
    const auto outcome = builds ? verdict::Outcome::kWrong : verdict::Outcome::kBuildError;
    verdict.conclusion = verdict::Conclusion<verdict::Timing>::failed(outcome, "the source asked for it");
    verdict.workloads.clear();
  }
  return verdict;
}

}  // namespace ww::agent
