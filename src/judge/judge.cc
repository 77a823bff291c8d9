// SPDX-License-Identifier: Apache-2.0
#include "judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "base/hash.h"
#include "base/json.h"
#include "build/builder.h"
#include "judge/admission.h"
#include "judge/clocks.h"
#include "judge/judging.h"
#include "judge/reference.h"
#include "judge/result_cache.h"
#include "sandbox/isolation.h"

namespace ww::judge {
namespace {

using verdict::EvidenceKind;
using verdict::Outcome;
using ProgressObserver = std::function<void(const Progress&)>;

/// Raised whenever what a cached admission or baseline means has changed.
constexpr int kCacheVersion = 3;
constexpr milliseconds kOpenLimit{60'000};
constexpr nanoseconds kCompilerLimit = seconds(120);
/// A task is not refused for a referee that was slow to start: it gets as long as a check of a big task takes twice.
constexpr nanoseconds kLeastForTask = seconds(5);

verdict::Isolation isolation_facts(const sandbox::Isolation& isolation) {
  verdict::Isolation facts{.level = std::string(isolation.summary()), .layers = {}, .missing = {}};
  for (const auto& layer : isolation.layers) {
    if (layer.present) {
      facts.layers.push_back(layer.name);
    } else {
      facts.missing.push_back(layer.name + ": " + layer.detail);
    }
  }
  return facts;
}

Admission admission_from(const Json& json) {
  Admission admission;
  admission.admitted = true;
  admission.weak = json.value("weak", std::vector<std::string>{});
  admission.skipped = json.value("skipped", std::vector<std::string>{});
  admission.flops = json.value("flops", std::vector<double>{});
  return admission;
}

void fail(verdict::Verdict& verdict, Outcome outcome, EvidenceKind kind, const std::string& reason) {
  verdict.evidence.push_back({kind, reason, {}});
  verdict.conclusion = verdict::Conclusion<verdict::Timing>::failed(outcome, reason);
}

bool exceeds_bound(const verdict::Verdict& verdict) {
  return std::any_of(verdict.evidence.begin(), verdict.evidence.end(),
                     [](const auto& each) { return each.kind == EvidenceKind::kBoundExceeded; });
}

}  // namespace

struct Judge::State {
  explicit State(Settings given)
      : settings(std::move(given)),
        cache(settings.cache_folder),
        builder(settings.build()),
        threads(settings.threads > 0 ? settings.threads : device::cpu_facts().cores) {}

  RefereeParent& referee() {
    if (!parent) {
      parent = std::make_unique<RefereeParent>(
          RefereeSettings{.python = settings.python, .package_folder = settings.python_package});
    }
    return *parent;
  }

  /// Children opened from here on compile and capture without importing the compiler themselves.
  void expect_compilation() {
    if (compiler_ready) return;
    referee().prepare_compiler(kCompilerLimit);
    reference.reset();
    compiler_ready = true;
  }

  bool must_compile(const task::Task& task, const Options& options) {
    return options.compile_max || (options.compile && !knows_compile(cache, key_of(task), task));
  }

  /// The referee may be what failed: the next judging starts with a new one.
  void forget_referee() {
    reference.reset();
    clocks.reset();
    parent.reset();
    compiler_ready = false;
  }

  Clocks& twins() {
    if (!clocks) clocks = std::make_unique<Clocks>(runner_setup(), referee());
    return *clocks;
  }

  RunnerProcessSetup runner_setup() const {
    return {.program = settings.program_folder / "ww-runner",
            .threads = threads,
            .environment = {},
            .cpus = {},
            .limits = {}};
  }

  const device::Ceilings& ceilings() {
    if (measured) return *measured;
    const std::string key = fmt::format("{}/{}/{}", kCacheVersion, device::cpu_facts().id, threads);
    const auto entry = cache.find("ceilings", key);
    measured.emplace();
    if (entry) *measured = {entry->value("copy_gb_per_s", 0.0), entry->value("fma_gflop_per_s", 0.0)};
    if (measured->copy_gb_per_s > 0 && measured->fma_gflop_per_s > 0) return *measured;
    measured = device::measure_ceilings(threads);
    cache.store("ceilings", key,
                Json{{"copy_gb_per_s", measured->copy_gb_per_s}, {"fma_gflop_per_s", measured->fma_gflop_per_s}});
    return *measured;
  }

  /// What an admission or baseline of this task depends on.
  std::string key_of(const task::Task& task) {
    return fmt::format("{}/{}/{}/{}/{}", kCacheVersion, task.id, device::cpu_facts().id, threads,
                       referee().torch_version());
  }

  Result<Reference*> open(const task::Task& task, bool check, milliseconds limit) {
    if (reference && opened == task.id && !check) return reference.get();
    reference.reset();
    auto made = Reference::open(referee(), task, threads, check, limit);
    if (!made) return made.error();
    reference = std::move(*made);
    opened = task.id;
    return reference.get();
  }

  /// From the cache, or by opening the task with the slow questions and judging the straws. `limit`: of all of it.
  Admission admit(const task::Task& task, milliseconds limit, const ProgressObserver& on_progress) {
    const nanoseconds begun = now();
    if (!parent) on_progress({Stage::kStartReferee, "", 0, {}});
    const std::string key = key_of(task);
    if (const auto known = cache.find("admissions", key)) return admission_from(*known);
    const nanoseconds deadline = std::max<nanoseconds>(begun + limit, now() + kLeastForTask);
    on_progress({Stage::kLoad, "", 0, deadline - now(), true});
    const ReplyDeadline until(referee(), deadline);
    Admission admission;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - now());
    const auto opened_reference = open(task, true, left);
    if (!opened_reference) {
      admission.problems.push_back(opened_reference.error().text());
      return admission;
    }
    const nanoseconds opened_at = now();
    judge_straws(**opened_reference, task.contract, admission, [&](double done) {
      const double left_s = done > 0 ? to_seconds(now() - opened_at) * (1 - done) / done : to_seconds(deadline - now());
      on_progress({Stage::kAdmit, "", done, nanoseconds(static_cast<int64_t>(left_s * 1e9)), done == 0});
    });
    if (!admission.admitted) return admission;
    for (size_t w = 0; w < task.workloads.size(); w++) admission.flops.push_back((*opened_reference)->flops(w));
    cache.store("admissions", key,
                Json{{"weak", admission.weak}, {"skipped", admission.skipped}, {"flops", admission.flops}});
    return admission;
  }

  verdict::Verdict blank(const task::Task& task, const std::filesystem::path& solution, const Options& options);
  void judge_built(const task::Task& task, const Admission& admission, const build::Artifact& artifact,
                   const Options& options, verdict::Verdict& verdict);

  Settings settings;
  ResultCache cache;
  build::Builder builder;
  int threads;
  std::unique_ptr<RefereeParent> parent;
  bool compiler_ready = false;
  std::unique_ptr<Clocks> clocks;
  std::optional<device::Ceilings> measured;
  std::unique_ptr<Reference> reference;  ///< of the task opened last
  std::string opened;                    ///< its id
};

verdict::Verdict Judge::State::blank(const task::Task& task, const std::filesystem::path& solution,
                                     const Options& options) {
  const device::CpuFacts& cpu = device::cpu_facts();
  verdict::Verdict verdict;
  verdict.task = {.name = task.name, .id = task.id};
  verdict.solution = {.path = solution.string(), .format = "native", .id = ""};
  verdict.judge = {.version = WW_VERSION,
                   .torch = parent ? parent->torch_version() : "",
                   .statistic = cpu_method().statistic(),
                   .time_cap_s = to_seconds(options.time_cap)};
  verdict.device = {
      .name = "cpu",
      .model = cpu.model,
      .features = cpu.vector_level,
      .cores = cpu.cores,
      .threads = threads,
      .other = {
          {"id", cpu.id}, {"omp_wait_policy", "default"}, {"affinity", "one thread a core where there are as many"}}};
  verdict.contract = task::to_json(task.contract).dump();
  verdict.isolation = isolation_facts(sandbox::probe());
  if (!task.contract.redraw_constants) {
    verdict.evidence.push_back(
        {EvidenceKind::kConstantsKept, "parameters initialised to a constant were not redrawn", {}});
  }
  return verdict;
}

void Judge::State::judge_built(const task::Task& task, const Admission& admission, const build::Artifact& artifact,
                               const Options& options, verdict::Verdict& verdict) {
  const auto opened_reference = open(task, false, kOpenLimit);
  if (!opened_reference) throw Fault(Fault::Kind::kProtocol, opened_reference.error().text());
  Bench bench{.reference = **opened_reference,
              .clocks = twins(),
              .cache = cache,
              .runner_setup = runner_setup(),
              .ceilings = ceilings(),
              .flops = admission.flops,
              .baseline_key = key_of(task)};
  judge_artifact(bench, task, artifact, options, verdict);
  if (!verdict.passed() || !exceeds_bound(verdict)) return;
  // Faster than the machine should allow: believed only if a fresh process says it again.
  verdict.evidence.push_back(
      {EvidenceKind::kRejudged, "judged a second time, in a fresh process; these are its figures", {}});
  verdict.workloads.clear();
  judge_artifact(bench, task, artifact, options, verdict);
}

Judge::Judge(Settings settings) : state_(std::make_unique<State>(std::move(settings))) {}
Judge::~Judge() = default;

Result<verdict::Verdict> Judge::judge(const task::Task& task, const std::filesystem::path& solution,
                                      const Options& options) {
  const nanoseconds start = now();
  const auto report = [&](Stage stage, double done) {
    if (options.on_progress) options.on_progress({stage, "", done, {}});
  };
  verdict::Verdict verdict = state_->blank(task, solution, options);
  try {
    report(Stage::kBuild, 0);
    auto building = std::async(std::launch::async, [&] { return state_->builder.build(solution, task.contract); });
    if (options.timing && state_->must_compile(task, options)) state_->expect_compilation();
    const Admission admission = state_->admit(task, kOpenLimit, [&](const Progress& progress) {
      if (options.on_progress) options.on_progress(progress);
    });
    verdict.judge.torch = state_->referee().torch_version();
    const build::BuildResult built = building.get();
    if (!admission.admitted)
      return Error{fmt::format("{}", fmt::join(admission.problems, "; ")), task.source_path.string()};
    verdict.weak_task = admission.weak;
    verdict.solution.id = built.solution_id;
    if (const build::Failure* failure = built.failure()) {
      if (failure->kind == build::Failure::Kind::kBadInput) return Error{failure->text, ""};
      const bool forbidden = failure->kind == build::Failure::Kind::kForbidden;
      fail(verdict, forbidden ? Outcome::kForbidden : Outcome::kBuildError,
           forbidden ? EvidenceKind::kLibrary : EvidenceKind::kCompiler, failure->text);
    } else {
      const build::Artifact& artifact = *built.artifact();
      verdict.artifact = verdict::ArtifactFacts{.id = artifact.id,
                                                .bytes = artifact.bytes,
                                                .compile_s = artifact.compile_s,
                                                .cached = artifact.cached,
                                                .needs = artifact.needs};
      state_->judge_built(task, admission, artifact, options, verdict);
    }
  } catch (const Fault& fault) {
    if (fault.kind() == Fault::Kind::kInterrupted) throw;
    state_->forget_referee();
    fail(verdict, Outcome::kNoVerdict, EvidenceKind::kFault, fault.what());
  }
  report(Stage::kDone, 1);
  verdict.elapsed_s = to_seconds(now() - start);
  return verdict;
}

Admission Judge::check(const task::Task& task, milliseconds limit, const ProgressObserver& on_progress) {
  try {
    return state_->admit(task, limit, on_progress);
  } catch (const Fault& fault) {
    if (fault.kind() != Fault::Kind::kProtocol) throw;
    // While a task is being looked at, a referee that dies or falls silent is the task's doing.
    state_->reference.reset();
    Admission refused;
    refused.problems.push_back(fault.what());
    return refused;
  }
}

Result<Json> Judge::describe(const task::Task& task) {
  const auto reference = state_->open(task, false, kOpenLimit);
  if (!reference) return reference.error();
  Json workloads = Json::array();
  for (size_t w = 0; w < (*reference)->workloads(); w++) workloads.push_back((*reference)->description(w));
  return workloads;
}

Result<std::vector<Json>> Judge::capture(const task::Task& task) {
  const std::string key = state_->key_of(task);
  if (const auto known = state_->cache.find("graphs", key); known && known->size() == task.workloads.size()) {
    return std::vector<Json>(known->begin(), known->end());
  }
  state_->expect_compilation();
  const auto reference = state_->open(task, false, kOpenLimit);
  if (!reference) return reference.error();
  std::vector<Json> graphs;
  for (size_t w = 0; w < (*reference)->workloads(); w++) graphs.push_back((*reference)->graph(w));
  state_->cache.store("graphs", key, Json(graphs));
  return graphs;
}

Result<Roofline> Judge::roofline(const task::Task& task) {
  // The reference of a judging lies stopped; this child must not wait for it, nor run beside it later.
  auto work = measure_work(state_->referee(), task, state_->threads, kOpenLimit);
  if (!work) return work.error();
  const device::Ceilings& ceilings = state_->ceilings();
  return Roofline{ceilings.copy_gb_per_s, ceilings.fma_gflop_per_s, std::move(*work)};
}

Json Judge::facts() {
  Json facts = {{"device", device::to_json(device::cpu_facts())}, {"threads", state_->threads}};
  facts["copy_gb_per_s"] = state_->ceilings().copy_gb_per_s;
  facts["fma_gflop_per_s"] = state_->ceilings().fma_gflop_per_s;
  try {
    facts["torch"] = state_->referee().torch_version();
  } catch (const Fault& fault) {
    if (fault.kind() == Fault::Kind::kInterrupted) throw;
    facts["referee_fault"] = fault.what();
  }
  return facts;
}

}  // namespace ww::judge
