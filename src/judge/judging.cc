// SPDX-License-Identifier: Apache-2.0
#include "judge/judging.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace ww::judge {
namespace {

using verdict::Evidence;
using verdict::EvidenceKind;
using verdict::Outcome;

/// How the sides of one workload were timed, kept for the joint figures.
struct Timed {
  timing::Rounds rounds{0};
  verdict::WorkloadTiming figures;
  std::optional<verdict::Ratio> compile_factor;  ///< cached eager over compile
};

/// A ratio known worse than this is measured again rather than remembered: it widens every later ratio to compile.
constexpr double kWidestKept = 1.20;  // high over low

std::string entry_key(const std::string& baseline_key, const std::string& workload) {
  return baseline_key + "/" + workload;
}

std::optional<verdict::Ratio> cached_compile(const ResultCache& cache, const std::string& baseline_key,
                                             const std::string& workload) {
  const auto entry = cache.find("baselines", entry_key(baseline_key, workload));
  if (!entry || !entry->is_object()) return std::nullopt;
  const verdict::Ratio ratio{entry->value("ratio", 0.0), entry->value("low", 0.0), entry->value("high", 0.0)};
  if (!(0 < ratio.low && ratio.low <= ratio.ratio && ratio.ratio <= ratio.high)) return std::nullopt;
  return ratio;
}

void keep_compile(const Bench& bench, const std::string& workload, const Measurement& measurement) {
  const std::vector<Side>& sides = measurement.sides();
  const auto at = [&](Side side) {
    return static_cast<size_t>(std::find(sides.begin(), sides.end(), side) - sides.begin());
  };
  if (at(Side::kEager) == sides.size() || at(Side::kCompile) == sides.size()) return;
  // One process of ours timed both: what the outer clock cannot say of either does not make their ratio uncertain.
  const timing::Rounds rounds = measurement.bounded(task::ClockPolicy::kDevice);
  const auto ratio = estimate_ratio(rounds, at(Side::kCompile), at(Side::kEager), cpu_method());
  if (ratio.high > kWidestKept * ratio.low) return;
  bench.cache.store("baselines", entry_key(bench.baseline_key, workload),
                    Json{{"ratio", ratio.ratio}, {"low", ratio.low}, {"high", ratio.high}});
}

/// The sides to time. compile joins only if its ratio is not known; then it is timed for every workload, so that the
/// joint figures can be resampled.
std::vector<Side> sides_for(const Bench& bench, const task::Task& task, const Options& options, bool& compile_cached) {
  std::vector<Side> sides = {Side::kSolution};
  if (options.eager || options.compile) sides.push_back(Side::kEager);
  compile_cached = options.compile && knows_compile(bench.cache, bench.baseline_key, task);
  if (options.compile && !compile_cached) sides.push_back(Side::kCompile);
  if (options.compile_max) sides.push_back(Side::kCompileMax);
  return sides;
}

void compile_baselines(Bench& bench, const std::vector<Side>& sides, const Options& options,
                       verdict::Verdict& verdict) {
  for (const Side side : sides) {
    if (side != Side::kCompile && side != Side::kCompileMax) continue;
    for (size_t w = 0; w < bench.reference.workloads(); w++) {
      const std::string& name = bench.reference.buffers(w).name;
      if (options.on_progress) options.on_progress({Stage::kCompileBaseline, name, 0, {}});
      if (const auto told = bench.reference.compile(w, side)) {
        verdict.evidence.push_back({EvidenceKind::kLimit, name + ": " + *told, {}});
      }
    }
  }
}

void note_bound(const verdict::WorkloadVerdict& workload, const verdict::WorkloadTiming& figures,
                verdict::Verdict& verdict) {
  if (figures.times.solution.high_us >= *workload.bound_us) return;
  verdict.evidence.push_back({EvidenceKind::kBoundExceeded,
                              fmt::format("{}: {:.1f} us is less than the speed-of-light bound of {:.1f} us",
                                          workload.name, figures.times.solution.time_us, *workload.bound_us),
                              {{"time_us", figures.times.solution.time_us}, {"bound_us", *workload.bound_us}}});
}

Timed time_figures(const Bench& bench, const WorkloadJudging& judging, const std::string& workload,
                   bool compile_cached) {
  const Measurement& measurement = *judging.measurement();
  Timed timed{.rounds = measurement.bounded(), .figures = {}, .compile_factor = std::nullopt};
  timed.figures = workload_figures(timed.rounds, measurement.sides(), judging.prepare_us());
  if (compile_cached) {
    timed.compile_factor = cached_compile(bench.cache, bench.baseline_key, workload);
    scale_compile(timed.figures, *timed.compile_factor);
  } else {
    keep_compile(bench, workload, measurement);
  }
  return timed;
}

void conclude(verdict::Verdict& verdict, const std::vector<Timed>& timed, const std::vector<Side>& sides) {
  if (timed.empty()) {
    verdict.conclusion = verdict::Conclusion<verdict::Timing>::pass(std::nullopt);
    return;
  }
  std::vector<timing::Rounds> rounds;
  std::vector<verdict::WorkloadTiming> figures;
  std::vector<verdict::Ratio> factors;
  for (const Timed& each : timed) {
    rounds.push_back(each.rounds);
    figures.push_back(each.figures);
    if (each.compile_factor) factors.push_back(*each.compile_factor);
  }
  if (!factors.empty()) {
    verdict.evidence.push_back({EvidenceKind::kBaselineCached,
                                "compile was scaled from eager by a ratio measured earlier on this machine",
                                {}});
  }
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::pass(total_figures(rounds, sides, figures, factors));
}

/// Judges one workload into the verdict; what ended it, if anything.
std::optional<Found> judge_workload(Bench& bench, Runner& runner, const task::Task& task, size_t index, nanoseconds due,
                                    const Options& options, const std::vector<Side>& sides, bool compile_cached,
                                    std::vector<Timed>& timed, verdict::Verdict& verdict) {
  const WorkloadBuffers& buffers = bench.reference.buffers(index);
  const auto report = [&](double done) {
    if (!options.on_progress) return;
    const double count = static_cast<double>(bench.reference.workloads());
    const double left_s = (count - static_cast<double>(index) - done) * to_seconds(options.time_cap);
    options.on_progress({Stage::kTime, buffers.name, (static_cast<double>(index) + done) / count,
                         nanoseconds(static_cast<int64_t>(left_s * 1e9))});
  };
  if (options.on_progress) options.on_progress({Stage::kCheck, buffers.name, 0, {}});
  Clocks* clocks = options.timing ? &bench.clocks : nullptr;
  WorkloadJudging judging({bench.reference, runner, clocks}, index, task.contract, options, sides, report);
  const std::optional<Found> found = judging.run(due);
  verdict::WorkloadVerdict& workload = verdict.workloads.emplace_back();
  workload.name = buffers.name;
  workload.inputs = buffers.inputs;
  workload.outputs = buffers.outputs;
  workload.config = judging.config();
  workload.trials = judging.trials();
  workload.bound_us = speed_of_light_us(buffers, bench.flops.at(index), bench.ceilings);
  verdict.evidence.insert(verdict.evidence.end(), judging.evidence().begin(), judging.evidence().end());
  using Conclusion = verdict::Conclusion<verdict::WorkloadTiming>;
  if (found) {
    workload.conclusion = Conclusion::failed(found->outcome, found->reason);
    return found;
  }
  if (!judging.measurement()) {
    workload.conclusion = Conclusion::pass(std::nullopt);
    return std::nullopt;
  }
  timed.push_back(time_figures(bench, judging, buffers.name, compile_cached));
  workload.conclusion = Conclusion::pass(timed.back().figures);
  note_bound(workload, timed.back().figures, verdict);
  return std::nullopt;
}

}  // namespace

bool knows_compile(const ResultCache& cache, const std::string& baseline_key, const task::Task& task) {
  return std::all_of(task.workloads.begin(), task.workloads.end(), [&](const task::Workload& workload) {
    return cached_compile(cache, baseline_key, workload.name).has_value();
  });
}

double speed_of_light_us(const WorkloadBuffers& buffers, double flops, const device::Ceilings& ceilings) {
  uint64_t bytes = 0;
  for (const auto* list : {&buffers.inputs, &buffers.weights, &buffers.outputs}) {
    for (const auto& spec : *list) bytes += spec.bytes();
  }
  return std::max(static_cast<double>(bytes) / (ceilings.copy_gb_per_s * 1e3),
                  flops / (ceilings.fma_gflop_per_s * 1e3));
}

void judge_artifact(Bench& bench, const task::Task& task, const build::Artifact& artifact, const Options& options,
                    verdict::Verdict& verdict) {
  const auto conclude_failed = [&](const Found& found) {
    verdict.evidence.insert(verdict.evidence.end(), found.evidence.begin(), found.evidence.end());
    verdict.conclusion = verdict::Conclusion<verdict::Timing>::failed(found.outcome, found.reason);
  };
  const nanoseconds start = now();
  bool compile_cached = false;
  const std::vector<Side> sides = sides_for(bench, task, options, compile_cached);
  RunnerSetup setup{.process = bench.runner_setup, .loadable = {artifact.path, artifact.needs}, .workloads = {}};
  for (size_t w = 0; w < bench.reference.workloads(); w++) setup.workloads.push_back(bench.reference.buffers(w));
  auto started = Runner::start(setup);
  if (const auto* failure = std::get_if<RunnerFailure>(&started)) {
    conclude_failed(found_from(*failure, "loading"));
    return;
  }
  Runner& runner = *std::get<std::unique_ptr<Runner>>(started);
  stop(runner.endpoint());
  const nanoseconds compile_start = now();
  if (options.timing) compile_baselines(bench, sides, options, verdict);
  const nanoseconds compiling = now() - compile_start;
  std::vector<Timed> timed;
  for (size_t w = 0; w < bench.reference.workloads(); w++) {
    const nanoseconds due = std::min<nanoseconds>(now(), start + compiling + w * options.time_cap) + options.time_cap;
    if (const auto found =
            judge_workload(bench, runner, task, w, due, options, sides, compile_cached, timed, verdict)) {
      verdict.trials = verdict::total(verdict.workloads);
      conclude_failed(*found);
      return;
    }
  }
  verdict.trials = verdict::total(verdict.workloads);
  conclude(verdict, timed, sides);
}

}  // namespace ww::judge
