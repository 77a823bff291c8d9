// SPDX-License-Identifier: Apache-2.0
//
// Verdict to JSON. The order of keys is that of docs/formats/verdict.md.
#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "verdict/verdict.h"

namespace ww::verdict {
namespace {

/// JSON has no word for these, and an expected NaN has to survive.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json write(const SideTime& side) {
  return {{"statistic", side.statistic}, {"time_us", side.time_us},    {"low_us", side.low_us},
          {"high_us", side.high_us},     {"base_us", side.base_us},    {"error_us", side.error_us},
          {"samples", side.samples},     {"discarded", side.discarded}};
}

Json write(const std::optional<SideTime>& side) { return side ? write(*side) : Json(nullptr); }

Json write(const Times& times) {
  return {{"solution", write(times.solution)},
          {"eager", write(times.eager)},
          {"compile", write(times.compile)},
          {"compile_max", write(times.compile_max)}};
}

Json write(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", ratio->ratio}, {"low", ratio->low}, {"high", ratio->high}};
}

Json write(const Speedup& speedup) { return {{"eager", write(speedup.eager)}, {"compile", write(speedup.compile)}}; }

std::string seed(uint64_t value) { return fmt::format("0x{:016x}", value); }

Json write(const Failure& failure) {
  return {{"workload", failure.workload},
          {"output", failure.output},
          {"pattern", failure.pattern},
          {"trial", failure.trial},
          {"index", failure.index},
          {"expected", number(failure.expected)},
          {"got", number(failure.got)},
          {"error", number(failure.error)},
          {"input_seed", seed(failure.input_seed)},
          {"weight_seed", seed(failure.weight_seed)}};
}

Json write(const Trials& trials) {
  return {{"checked", trials.checked},
          {"timed", trials.timed},
          {"honey", trials.honey},
          {"worst_error", number(trials.worst_error)},
          {"first_failure", trials.first_failure ? write(*trials.first_failure) : Json(nullptr)}};
}

Json write(const std::vector<Evidence>& evidence) {
  Json list = Json::array();
  for (const Evidence& each : evidence) {
    Json numbers = Json::object();
    for (const auto& [key, value] : each.numbers) numbers[key] = number(value);
    list.push_back({{"kind", name(each.kind)}, {"text", each.text}, {"numbers", std::move(numbers)}});
  }
  return list;
}

Json write(const std::vector<task::TensorSpec>& specs) {
  Json list = Json::array();
  for (const task::TensorSpec& spec : specs) list.push_back(task::to_json(spec));
  return list;
}

Json write(const WorkloadVerdict& workload) {
  const auto& figures = workload.conclusion.figures();
  return {{"name", workload.name},
          {"shapes", {{"inputs", write(workload.inputs)}, {"outputs", write(workload.outputs)}}},
          {"outcome", name(workload.conclusion.outcome())},
          {"reason", workload.conclusion.reason()},
          {"config", or_null(workload.config)},
          {"prepare_us", figures ? or_null(figures->prepare_us) : Json(nullptr)},
          {"bound_us", or_null(workload.bound_us)},
          {"times", figures ? write(figures->times) : Json(nullptr)},
          {"speedup", figures ? write(figures->speedup) : Json(nullptr)},
          {"trials", write(workload.trials)}};
}

Json write(const std::optional<ArtifactFacts>& artifact) {
  if (!artifact) return nullptr;
  return {{"id", artifact->id},
          {"bytes", artifact->bytes},
          {"compile_s", artifact->compile_s},
          {"cached", artifact->cached},
          {"needs", artifact->needs}};
}

Json write(const DeviceFacts& device) {
  Json other = Json::object();
  for (const auto& [key, value] : device.other) other[key] = value;
  return {{"name", device.name},   {"model", device.model},     {"features", device.features},
          {"cores", device.cores}, {"threads", device.threads}, {"other", std::move(other)}};
}

}  // namespace

Json to_json(const Verdict& verdict) {
  const auto& figures = verdict.conclusion.figures();
  Json workloads = Json::array();
  for (const WorkloadVerdict& workload : verdict.workloads) workloads.push_back(write(workload));
  return {
      {"schema", kSchema},
      {"outcome", name(verdict.outcome())},
      {"reason", verdict.conclusion.reason()},
      {"task", {{"name", verdict.task.name}, {"id", verdict.task.id}}},
      {"solution", {{"path", verdict.solution.path}, {"format", verdict.solution.format}, {"id", verdict.solution.id}}},
      {"artifact", write(verdict.artifact)},
      {"judge",
       {{"version", verdict.judge.version},
        {"torch", verdict.judge.torch},
        {"statistic", verdict.judge.statistic},
        {"time_cap_s", verdict.judge.time_cap_s}}},
      {"device", write(verdict.device)},
      {"contract", parse_own_json(verdict.contract)},
      {"isolation",
       {{"level", verdict.isolation.level},
        {"layers", verdict.isolation.layers},
        {"missing", verdict.isolation.missing}}},
      {"weak_task", verdict.weak_task},
      {"workloads", std::move(workloads)},
      {"times", figures ? write(figures->times) : Json(nullptr)},
      {"speedup", figures ? write(figures->speedup) : Json(nullptr)},
      {"trials", write(verdict.trials)},
      {"evidence", write(verdict.evidence)},
      {"elapsed_s", verdict.elapsed_s}};
}

}  // namespace ww::verdict
