// SPDX-License-Identifier: Apache-2.0
#include "judge/runner_client.h"

#include "base/fault.h"
#include "base/hash.h"
#include "device/cpu.h"
#include "judge/runner_process.h"

namespace ww::judge {
namespace {

constexpr int32_t kMostConfigs = 1000;

CallKind kind_of(int placement) { return placement == 0 ? CallKind::kPlacement0 : CallKind::kPlacement1; }

/// What the loader, the header's version and the exports say; none: loaded.
std::optional<RunnerFailure> load_refusal(const wire::Report& report) {
  using Kind = RunnerFailure::Kind;
  if (!report.loaded) return RunnerFailure{Kind::kNotLoadable, printable(report.text)};
  if (!report.has_abi) {
    return RunnerFailure{Kind::kWrongAbi, "exports no ww_solution_abi: warpwright/solution.h is not included"};
  }
  if (report.abi != WW_ABI_VERSION) {
    return RunnerFailure{Kind::kWrongAbi, "is built for version " + std::to_string(report.abi) +
                                              " of warpwright/solution.h; this is version " +
                                              std::to_string(WW_ABI_VERSION)};
  }
  if (!report.has_forward) return RunnerFailure{Kind::kNoForward, "exports no ww_forward"};
  if (report.config_count < 1 || report.config_count > kMostConfigs) {
    return RunnerFailure{Kind::kAbsurd, "ww_config_count() returned " + std::to_string(report.config_count) +
                                            "; 1 to " + std::to_string(kMostConfigs) + " are allowed"};
  }
  return std::nullopt;
}

std::optional<RunnerFailure> size_refusal(const wire::Report& report, uint64_t limit) {
  const auto check = [&](const char* function, uint64_t bytes) -> std::optional<RunnerFailure> {
    if (bytes <= limit) return std::nullopt;
    return RunnerFailure{RunnerFailure::Kind::kAbsurd, std::string(function) + "() returned " + std::to_string(bytes) +
                                                           " bytes; at most " + std::to_string(limit) + " are allowed"};
  };
  if (auto refusal = check("ww_packed_bytes", report.packed_bytes)) return refusal;
  return check("ww_workspace_bytes", report.workspace_bytes);
}

}  // namespace

struct Runner::State {
  explicit State(const RunnerSetup& setup)
      : process(setup.process, setup.loadable, setup.workloads),
        limits(setup.process.limits),
        threads(setup.process.threads),
        salt(random_word()) {}

  /// One call whose buffers are those of `choice`: poisons, lets `stage` write, flushes.
  CallReport measured(wire::Operation operation, CallKind kind, const CallChoice& choice, const char* function,
                      const std::function<void()>& stage);
  CallReport report_on(const CallTimes& times, const char* function);

  RunnerProcess process;
  RunnerLimits limits;
  int threads;
  uint64_t salt;
  int32_t config_count = 1;
  bool has_prepare = false;
  std::optional<std::pair<size_t, int32_t>> prepared;
  std::optional<RunnerFailure> ended;
};

CallReport Runner::State::report_on(const CallTimes& times, const char* function) {
  CallReport report{.times = times};
  if (times.end != CallEnd::kDone || times.stray_records > 0) {
    ended = process.end_after(times, std::string("running ") + function, limits.call);
    report.failure = ended;
    return report;
  }
  report.threads = process.task_count();
  report.unsupported = times.status == WW_UNSUPPORTED;
  if (times.status != WW_OK && !report.unsupported) {
    report.failure = RunnerFailure{RunnerFailure::Kind::kStatus,
                                   std::string(function) + " returned " + std::to_string(times.status)};
  }
  return report;
}

CallReport Runner::State::measured(wire::Operation operation, CallKind kind, const CallChoice& choice,
                                   const char* function, const std::function<void()>& stage) {
  if (ended) return {.times = {.end = CallEnd::kDied}, .failure = ended};
  LentMemory& memory = process.memory();
  const auto regions = memory.regions(choice.workload, choice.placement);
  const auto stage_all = [&] {
    salt++;
    if (operation == wire::Operation::kForward) memory.workload(choice.workload).poison(choice.placement, salt);
    memory.poison_workspace(salt);
    memory.paint_canaries(choice.workload, choice.placement, salt);
    if (stage) stage();
    device::flush_caches(regions);
  };
  const CallTimes times =
      process.call({.operation = operation, .call = memory.call(choice.workload, kind, choice.config, threads)},
                   stage_all, limits.call);
  CallReport report = report_on(times, function);
  if (!ended) report.overwritten = memory.broken_canaries(choice.workload, choice.placement, salt);
  return report;
}

Runner::Runner(std::unique_ptr<State> state) : state_(std::move(state)) {}
Runner::~Runner() = default;

void Runner::limit_calls(milliseconds limit) { state_->limits.call = limit; }

std::variant<std::unique_ptr<Runner>, RunnerFailure> Runner::start(const RunnerSetup& setup) {
  auto state = std::make_unique<State>(setup);
  RunnerProcess& process = state->process;
  const nanoseconds limit = setup.process.limits.load;
  const CallTimes times = process.call({.operation = wire::Operation::kLoad}, nullptr, limit);
  if (times.end != CallEnd::kDone || times.stray_records > 0) return process.end_after(times, "loading", limit);
  const wire::Report report = process.memory().report();
  if (auto refusal = load_refusal(report)) return *refusal;
  state->config_count = report.config_count;
  state->has_prepare = report.has_prepare;
  return std::unique_ptr<Runner>(new Runner(std::move(state)));
}

int32_t Runner::config_count() const { return state_->config_count; }

LentWorkload& Runner::lent(size_t workload) { return state_->process.memory().workload(workload); }

std::variant<Runner::Prepared, RunnerFailure> Runner::prepare(size_t workload, int32_t config) {
  State& state = *state_;
  WW_CHECK(config >= 0 && config < state.config_count, "no such config");
  state.prepared.reset();
  if (state.ended) return *state.ended;
  LentMemory& memory = state.process.memory();
  const ww_call call = memory.call(workload, CallKind::kSizes, config, state.threads);
  const CallReport sizes_call = state.report_on(
      state.process.call({.operation = wire::Operation::kSizes, .call = call}, nullptr, state.limits.call),
      "the size functions");
  if (sizes_call.failure) return *sizes_call.failure;
  const wire::Report report = memory.report();
  if (auto refusal = size_refusal(report, state.limits.scratch_bytes)) return *refusal;
  Prepared prepared;
  prepared.sizes = {.packed = report.packed_bytes, .workspace = report.workspace_bytes};
  prepared.has_prepare = state.has_prepare;
  memory.set_scratch(prepared.sizes, ++state.salt);
  if (state.has_prepare) {
    prepared.call =
        state.measured(wire::Operation::kPrepare, CallKind::kPrepare, {workload, config, 0}, "ww_prepare", nullptr);
  }
  if (!prepared.call.failure && !prepared.call.unsupported) state.prepared = {workload, config};
  return prepared;
}

CallReport Runner::forward(const CallChoice& choice, const std::function<void()>& stage) {
  WW_CHECK(state_->ended || state_->prepared == std::pair(choice.workload, choice.config), "forward before prepare");
  return state_->measured(wire::Operation::kForward, kind_of(choice.placement), choice, "ww_forward", stage);
}

const Endpoint& Runner::endpoint() const { return state_->process.endpoint(); }
pid_t Runner::pid() const { return state_->process.endpoint().pid; }
bool Runner::alive() const { return !state_->ended; }
const std::vector<std::string>& Runner::missing_layers() const { return state_->process.missing_layers(); }

}  // namespace ww::judge
