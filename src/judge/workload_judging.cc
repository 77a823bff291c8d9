// SPDX-License-Identifier: Apache-2.0
#include "judge/workload_judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/hash.h"
#include "judge/calibration.h"

namespace ww::judge {
namespace {

using verdict::Evidence;
using verdict::EvidenceKind;
using verdict::Outcome;

constexpr int kTruthTrials = 5;     // design.md 4.6: fp64 in at least five trials
constexpr int kRoundsPerBlock = 6;  // with the same weights and placement
constexpr int kFewestBlocks = 2;    // one placement and one draw of weights say nothing about others
constexpr size_t kProbesPerBlock = 2;
constexpr int kWarmupCap = 6;
constexpr double kWarmupAgreement = 0.2;
/// A call of the solution may take so many times what eager took, and at least the second figure.
constexpr double kCallLimitOverEager = 100;
constexpr milliseconds kLeastCallLimit{5000};
constexpr double kTuneBudget_s = 1.5;  // of trying configs, per workload
constexpr int kFinalists = 3;
constexpr int kForFigures = 40;  // this fraction of the cap is for what follows sampling
/// Honey rounds look for stale, cached or gated work, whose errors are near 1; their inputs can be ill-conditioned.
constexpr double kHoneySlack = 10;
/// Equal values are ill-conditioned by construction: a norm divides rounding noise by the root of its epsilon.
constexpr double kEqualBound = 0.05;
/// Processor time that a stopped process may seem to use: one tick of the accounting.
constexpr nanoseconds kStoppedSlack{1'000'000};

std::vector<int64_t> multi_index(uint64_t flat, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto length = static_cast<uint64_t>(std::max<int64_t>(1, shape[axis]));
    index[axis] = static_cast<int64_t>(flat % length);
    flat /= length;
  }
  return index;
}

void copy(std::span<std::byte> to, std::span<const std::byte> from) {
  WW_CHECK(to.size() == from.size(), "lent buffer and reference tensor differ in size");
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
}

Outcome outcome_of(RunnerFailure::Kind kind) {
  switch (kind) {
    case RunnerFailure::Kind::kNotLoadable:
    case RunnerFailure::Kind::kWrongAbi:
    case RunnerFailure::Kind::kNoForward:
      return Outcome::kBuildError;
    case RunnerFailure::Kind::kAbsurd:
    case RunnerFailure::Kind::kForbidden:
      return Outcome::kForbidden;
    case RunnerFailure::Kind::kCrash:
      return Outcome::kCrash;
    case RunnerFailure::Kind::kOutOfMemory:
      return Outcome::kOutOfMemory;
    case RunnerFailure::Kind::kTimeout:
      return Outcome::kTimeout;
    case RunnerFailure::Kind::kProtocol:
      return Outcome::kCheat;
    case RunnerFailure::Kind::kStatus:
      return Outcome::kWrong;
  }
  return Outcome::kNoVerdict;
}

EvidenceKind evidence_of(RunnerFailure::Kind kind) {
  switch (kind) {
    case RunnerFailure::Kind::kProtocol:
      return EvidenceKind::kMessageForged;
    case RunnerFailure::Kind::kForbidden:
      return EvidenceKind::kEscapeAttempt;
    case RunnerFailure::Kind::kNotLoadable:
    case RunnerFailure::Kind::kWrongAbi:
    case RunnerFailure::Kind::kNoForward:
      return EvidenceKind::kCompiler;
    case RunnerFailure::Kind::kAbsurd:
      return EvidenceKind::kLimit;
    default:
      return EvidenceKind::kExit;
  }
}

Found cheat(EvidenceKind kind, const std::string& reason, std::vector<std::pair<std::string, double>> numbers = {}) {
  return {Outcome::kCheat, reason, {{kind, reason, std::move(numbers)}}};
}

}  // namespace

Found found_from(const RunnerFailure& failure, const std::string& when) {
  const std::string reason = when + ": " + failure.text;
  return {outcome_of(failure.kind), reason, {{evidence_of(failure.kind), reason, {}}}};
}

WorkloadJudging::WorkloadJudging(Parties parties, size_t workload, const task::Contract& contract,
                                 const Options& options, std::vector<Side> sides,
                                 std::function<void(double)> on_progress)
    : parties_(parties),
      workload_(workload),
      buffers_(parties.reference.buffers(workload)),
      contract_(contract),
      options_(options),
      on_progress_(std::move(on_progress)),
      tolerance_(calibrated_tolerance(parties.reference, workload, contract.precision)),
      random_(random_word()) {
  if (parties_.clocks) measurement_.emplace(std::move(sides), contract.clock);
}

Draw WorkloadJudging::fresh(const std::string& pattern) { return {random_word(), std::nullopt, pattern}; }

void WorkloadJudging::draw(const Draw& draw) {
  parties_.reference.draw(workload_, draw);
  if (draw.input_seed) drawn_.input_seed = draw.input_seed;
}

std::optional<Found> WorkloadJudging::run(nanoseconds due) {
  limit_calls();
  if (Step ended = choose_config()) return ended;
  if (Step ended = check_against_truth()) return ended;
  std::vector<std::string> honey = honey_kinds();
  std::shuffle(honey.begin(), honey.end(), random_);
  if (measurement_) {
    if (Step ended = sample(honey, due)) return ended;
  }
  if (Step ended = drain_honey(honey)) return ended;
  if (!measurement_) return std::nullopt;
  const timing::ClockMismatch mismatch =
      contract_.clock == task::ClockPolicy::kGuarded ? measurement_->mismatch() : timing::ClockMismatch{};
  if (!mismatch.found) return std::nullopt;
  return cheat(EvidenceKind::kClockMismatch,
               fmt::format("calls took {:.0f} us longer outside than the solution's process claims, {:.1f} times what "
                           "the clock may err, in {} blocks",
                           mismatch.excess_us, mismatch.excess_us / mismatch.error_us, mismatch.blocks),
               {{"excess_us", mismatch.excess_us}, {"error_us", mismatch.error_us}});
}

void WorkloadJudging::limit_calls() {
  parties_.reference.draw(workload_, {random_word(), random_word(), "source"});
  const double eager_ms = parties_.reference.timed(workload_, Side::kEager).outer_us / 1e3;
  parties_.reference.collect(workload_);
  const milliseconds limit(static_cast<int64_t>(kCallLimitOverEager * eager_ms));
  parties_.runner.limit_calls(std::max(limit, kLeastCallLimit));
}

std::optional<Found> WorkloadJudging::new_weights() {
  drawn_ = {random_word(), random_word(), "source"};
  parties_.reference.draw(workload_, drawn_);
  parties_.reference.stop();
  if (!stop(parties_.runner.endpoint())) {
    return Found{Outcome::kCrash, "the solution's process ended between calls", {}};
  }
  for (size_t j = 0; j < buffers_.weights.size(); j++) {
    copy(parties_.runner.lent(workload_).weight(j), parties_.reference.weight(workload_, j));
  }
  auto prepared = parties_.runner.prepare(workload_, *config_);
  if (const auto* failure = std::get_if<RunnerFailure>(&prepared)) return found_from(*failure, "preparing");
  const auto& done = std::get<Runner::Prepared>(prepared);
  if (done.call.failure) return found_from(*done.call.failure, "ww_prepare");
  if (!done.call.overwritten.empty()) {
    const std::string reason = "ww_prepare wrote outside its buffer: " + done.call.overwritten.front();
    return Found{Outcome::kWrong, reason, {{EvidenceKind::kGuardWritten, reason, {}}}};
  }
  unsupported_ = done.call.unsupported;
  if (done.has_prepare) prepare_us_ = to_us(std::max(done.call.times.outer, done.call.times.inner));
  return std::nullopt;
}

std::optional<Found> WorkloadJudging::call(CallReport& report) {
  LentWorkload& lent = parties_.runner.lent(workload_);
  const Reference& reference = parties_.reference;
  if (unsupported_) {
    return Found{Outcome::kWrong,
                 fmt::format("config {} supported workload {} once, then refused it", *config_, buffers_.name),
                 {}};
  }
  report = parties_.runner.forward({workload_, *config_, placement_}, [&] {
    for (size_t i = 0; i < buffers_.inputs.size(); i++) copy(lent.input(i, placement_), reference.input(workload_, i));
    for (size_t k = 0; k < buffers_.outputs.size(); k++) {
      if (!lent.is_mutated(k)) continue;
      const auto same_name = [&](const task::TensorSpec& weight) { return weight.name == buffers_.outputs[k].name; };
      const auto weight = std::find_if(buffers_.weights.begin(), buffers_.weights.end(), same_name);
      const auto j = static_cast<size_t>(weight - buffers_.weights.begin());
      copy(lent.output(k, placement_), reference.weight(workload_, j));
    }
  });
  return judge_call(report);
}

std::optional<Found> WorkloadJudging::judge_call(const CallReport& report) {
  if (report.failure) return found_from(*report.failure, "ww_forward");
  if (report.times.stray_records > 0) {
    return cheat(EvidenceKind::kMessageForged,
                 "the solution's process sent a done record, or released a call, that nobody asked for",
                 {{"records", static_cast<double>(report.times.stray_records)}});
  }
  if (report.times.cpu_while_stopped > kStoppedSlack) {
    return cheat(EvidenceKind::kRanWhileStopped, "the solution's process used processor time while it was stopped",
                 {{"cpu_us", to_us(report.times.cpu_while_stopped)}});
  }
  if (!report.overwritten.empty()) {
    const std::string reason = "wrote outside its buffers: " + report.overwritten.front();
    return Found{Outcome::kWrong, reason, {{EvidenceKind::kGuardWritten, reason, {}}}};
  }
  if (!report.unsupported) solution_us_ = to_us(report.times.inner);
  return std::nullopt;
}

Found WorkloadJudging::wrong(size_t output, const Comparison& comparison, const std::string& pattern) {
  const task::TensorSpec& spec = buffers_.outputs[output];
  verdict::Failure failure{.workload = buffers_.name,
                           .output = spec.name,
                           .pattern = pattern,
                           .trial = trials_.checked,
                           .index = {},
                           .error = comparison.worst,
                           .input_seed = drawn_.input_seed.value_or(0),
                           .weight_seed = drawn_.weight_seed.value_or(0)};
  std::string reason = fmt::format("output {} is wrong on {} inputs of workload {}", spec.name, pattern, buffers_.name);
  if (comparison.first) {
    failure.index = multi_index(comparison.first->index, spec.shape);
    failure.expected = comparison.first->expected;
    failure.got = comparison.first->got;
    reason += fmt::format(": element [{}] is {:.9g}, expected {:.9g}", fmt::join(failure.index, ", "), failure.got,
                          failure.expected);
    if (comparison.wrong > 1) reason += fmt::format(" ({} of {} elements)", comparison.wrong, spec.elements());
    if (comparison.wrong == 0) {
      reason += fmt::format(" (no element alone, but the rms error {:.2g} is {:.3g} times what is allowed)",
                            comparison.error.rms, comparison.worst);
    }
  }
  trials_.first_failure = failure;
  Found found{Outcome::kWrong, reason, {}};
  if (pattern != "source") found.evidence.push_back({EvidenceKind::kHoneyFailed, reason, {}});
  return found;
}

std::optional<Found> WorkloadJudging::compare_outputs(Yardstick yardstick, const std::string& pattern) {
  const Tolerance& tolerance = honey_tolerance_ ? *honey_tolerance_ : tolerance_;
  const double slack = honey_tolerance_ ? kHoneySlack : 1;
  std::optional<std::pair<size_t, Comparison>> worst;
  for (size_t k = 0; k < buffers_.outputs.size(); k++) {
    const Expected expected =
        expected_output(parties_.reference, workload_, k, yardstick == Yardstick::kTruth, tolerance);
    Bound bound = {slack * expected.bound.max, slack * expected.bound.rms};
    if (pattern == "equal") bound = {std::max(bound.max, kEqualBound), std::max(bound.rms, kEqualBound)};
    const auto got = parties_.runner.lent(workload_).output(k, placement_);
    const Comparison comparison =
        compare(buffers_.outputs[k], expected.bytes.data(), expected.dtype, got.data(), bound);
    trials_.worst_error = std::max(trials_.worst_error, comparison.worst);
    if (!comparison.ok && !worst) worst = {k, comparison};
  }
  trials_.checked++;
  if (worst) return wrong(worst->first, worst->second, pattern);
  return std::nullopt;
}

std::optional<Found> WorkloadJudging::checked_call(Inputs inputs, Yardstick yardstick) {
  if (inputs == Inputs::kFresh) draw(fresh());
  parties_.reference.expect(workload_, yardstick == Yardstick::kTruth);
  parties_.reference.stop();
  if (Step ended = call(last_)) return ended;
  if (last_.unsupported) return std::nullopt;
  return compare_outputs(yardstick, "source");
}

std::optional<Found> WorkloadJudging::try_config(int32_t config, double& best_us) {
  config_ = config;
  best_us = INFINITY;
  if (Step ended = new_weights()) return ended;
  for (int i = 0; i < 2 && !unsupported_; i++) {
    if (Step ended = checked_call(i == 0 ? Inputs::kAsDrawn : Inputs::kFresh, Yardstick::kEager)) return ended;
    if (last_.unsupported) return std::nullopt;
    best_us = std::min(best_us, to_us(last_.times.inner));
  }
  return std::nullopt;
}

std::optional<Found> WorkloadJudging::choose_config() {
  const int32_t count = parties_.runner.config_count();
  std::vector<int32_t> configs(static_cast<size_t>(count));
  std::iota(configs.begin(), configs.end(), 0);
  if (options_.config) configs = {*options_.config};
  if (options_.config && (*options_.config < 0 || *options_.config >= count)) {
    return Found{
        Outcome::kWrong, fmt::format("config {} is asked for, the solution has {}", *options_.config, count), {}};
  }
  const nanoseconds start = now();
  std::vector<std::pair<double, int32_t>> tried;
  for (const int32_t config : configs) {
    if (!tried.empty() && to_seconds(now() - start) > kTuneBudget_s) {
      evidence_.push_back(
          {EvidenceKind::kConfigSkipped,
           fmt::format("{}: tuning time spent; configs from {} on were not tried", buffers_.name, config),
           {}});
      break;
    }
    double best_us = 0;
    if (Step ended = try_config(config, best_us)) return ended;
    if (std::isfinite(best_us)) tried.emplace_back(best_us, config);
  }
  if (tried.empty()) {
    return Found{Outcome::kWrong, fmt::format("no config supports workload {}", buffers_.name), {}};
  }
  std::sort(tried.begin(), tried.end());
  if (tried.size() > kFinalists) tried.resize(kFinalists);
  if (tried.size() > 1) {
    for (auto& [best_us, config] : tried) {
      double again_us = 0;
      if (Step ended = try_config(config, again_us)) return ended;
      best_us = std::min(best_us, again_us);
    }
    std::sort(tried.begin(), tried.end());
  }
  config_ = tried.front().second;
  return std::nullopt;
}

std::optional<Found> WorkloadJudging::check_against_truth() {
  if (Step ended = new_weights()) return ended;
  double previous_us = 0;
  for (int trial = 0; trial < kWarmupCap; trial++) {
    placement_ = trial % parties_.runner.lent(workload_).placements();
    if (Step ended = checked_call(Inputs::kFresh, Yardstick::kTruth)) return ended;
    if (last_.unsupported) {
      return Found{Outcome::kWrong,
                   fmt::format("config {} supported workload {} once, then refused it", *config_, buffers_.name),
                   {}};
    }
    const double call_us = to_us(last_.times.inner);
    const bool agree = std::fabs(call_us - previous_us) <= kWarmupAgreement * call_us;
    if (trial + 1 >= kTruthTrials && agree) break;
    previous_us = call_us;
  }
  return std::nullopt;
}

std::vector<std::string> WorkloadJudging::honey_kinds() const {
  const auto floating = [](const task::TensorSpec& spec) {
    return !spec.none && !spec.scalar && task::is_floating(spec.dtype);
  };
  const auto integer = [](const task::TensorSpec& spec) { return !task::is_floating(spec.dtype); };
  const bool floating_inputs = std::any_of(buffers_.inputs.begin(), buffers_.inputs.end(), floating);
  std::vector<std::string> kinds = {"nudge", "moved", "source"};
  if (floating_inputs) kinds.insert(kinds.end(), {"large", "small", "heavy"});
  if (floating_inputs && std::none_of(buffers_.outputs.begin(), buffers_.outputs.end(), integer))
    kinds.push_back("equal");
  if (std::any_of(buffers_.weights.begin(), buffers_.weights.end(), floating)) kinds.push_back("other_weights");
  return kinds;
}

std::optional<Found> WorkloadJudging::honey_round(const std::string& kind) {
  Reference& reference = parties_.reference;
  if (kind == "nudge" || kind == "moved" || kind == "other_weights") {
    // These differ in one thing from the call before, which is an ordinary one.
    if (Step ended = checked_call(Inputs::kFresh, Yardstick::kEager)) return ended;
  }
  Draw honey = fresh(kind);
  if (kind == "moved" || kind == "other_weights") honey = {std::nullopt, std::nullopt, "source"};
  if (kind == "moved") placement_ = (placement_ + 1) % parties_.runner.lent(workload_).placements();
  if (kind == "other_weights") {
    // new_weights() draws inputs too; the same input seed again makes them equal to the call before.
    honey.input_seed = drawn_.input_seed;
    if (Step ended = new_weights()) return ended;
  }
  draw(honey);
  const bool finite = reference.expect(workload_, true);
  reference.stop();
  if (!finite) return std::nullopt;
  honey_tolerance_ = tolerance_;
  calibrate_on_draw(reference, workload_, *honey_tolerance_);
  Step ended = call(last_);
  if (!ended && !last_.unsupported) ended = compare_outputs(Yardstick::kTruth, kind);
  honey_tolerance_.reset();
  trials_.honey++;
  return ended;
}

std::optional<Found> WorkloadJudging::drain_honey(std::vector<std::string>& honey_left) {
  while (!honey_left.empty()) {
    const std::string kind = honey_left.back();
    honey_left.pop_back();
    if (Step ended = honey_round(kind)) return ended;
  }
  return std::nullopt;
}

void WorkloadJudging::probe(TwinKind kind, double duration_us) {
  const auto [lower, upper] = enclosing_spins(duration_us);
  const double spin_us = random_() % 2 ? lower : upper;
  measurement_->add_probe(kind, parties_.clocks->probe(kind, spin_us, parties_.reference.staged_bytes(workload_)));
}

int WorkloadJudging::random_round() { return static_cast<int>(random_() % static_cast<uint64_t>(kRoundsPerBlock)); }

std::optional<Found> WorkloadJudging::timed_round() {
  Reference& reference = parties_.reference;
  draw(fresh());
  const std::vector<Side>& sides = measurement_->sides();
  std::vector<size_t> order(sides.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  std::vector<timing::Clocked> calls(sides.size());
  for (const size_t side : order) {
    if (sides[side] == Side::kSolution) {
      reference.stop();
      if (Step ended = call(last_)) return ended;
      if (last_.unsupported)
        return Found{Outcome::kWrong, "a config that supported this workload refused it later", {}};
      calls[side] = clocked(last_.times);
      continue;
    }
    calls[side] = reference.timed(workload_, sides[side]);
    const bool eager = sides[side] == Side::kEager;
    if (eager) eager_us_ = calls[side].inner_us;
    if (eager || buffers_.mutated > 0) {
      reference.collect(workload_, eager ? RefereeRegion::kExpected : RefereeRegion::kOther);
    }
  }
  if (std::find(sides.begin(), sides.end(), Side::kEager) == sides.end()) reference.expect(workload_, false);
  if (Step ended = compare_outputs(Yardstick::kEager, "source")) return ended;
  measurement_->add_round(calls);
  trials_.timed++;
  return std::nullopt;
}

std::optional<Found> WorkloadJudging::block(std::vector<std::string>& honey_left, size_t honeys) {
  placement_ = static_cast<int>(random_() % static_cast<uint64_t>(parties_.runner.lent(workload_).placements()));
  if (Step ended = new_weights()) return ended;
  measurement_->begin_block();
  // Pointers moved and packed weights are new: one call that is staged and checked like any other, but not sampled.
  if (Step ended = checked_call(Inputs::kAsDrawn, Yardstick::kEager)) return ended;
  const int placement = placement_;
  const auto probe_rounds = [&] { return std::array<int, kProbesPerBlock>{random_round(), random_round()}; };
  const auto native_probes = probe_rounds(), python_probes = probe_rounds();
  for (int round = 0; round < kRoundsPerBlock; round++) {
    if (honeys > 0 && random_() % static_cast<uint64_t>(kRoundsPerBlock - round) < honeys && !honey_left.empty()) {
      const std::string kind = honey_left.back();
      honey_left.pop_back();
      honeys--;
      if (Step ended = honey_round(kind)) return ended;
      placement_ = placement;
    }
    if (Step ended = timed_round()) return ended;
    for (auto i = std::count(native_probes.begin(), native_probes.end(), round); i > 0; i--) {
      probe(TwinKind::kNative, solution_us_);
    }
    for (auto i = std::count(python_probes.begin(), python_probes.end(), round); i > 0; i--) {
      probe(TwinKind::kPython, eager_us_);
    }
  }
  return std::nullopt;
}

std::optional<Found> WorkloadJudging::sample(std::vector<std::string>& honey, nanoseconds due) {
  for (int i = 0; i < 2 * static_cast<int>(timing::BaseEstimator::kFewestProbes); i++) {
    for (const TwinKind kind : {TwinKind::kNative, TwinKind::kPython}) {
      const auto [lower, upper] =
          enclosing_spins(kind == TwinKind::kNative ? solution_us_ : std::max(solution_us_, eager_us_));
      measurement_->add_probe(
          kind, parties_.clocks->probe(kind, i % 2 ? lower : upper, parties_.reference.staged_bytes(workload_)));
    }
  }
  const nanoseconds start = now();
  const nanoseconds end = std::max<nanoseconds>(due, start + options_.time_cap / 2) - options_.time_cap / kForFigures;
  for (int blocks = 1;; blocks++) {
    if (Step ended = block(honey, (honey.size() + 2) / 3)) return ended;
    on_progress_(std::min(1.0, to_seconds(now() - start) / to_seconds(end - start)));
    // A block that would end beyond the cap is not begun.
    const nanoseconds usual = (now() - start) / blocks;
    const nanoseconds left = blocks < kFewestBlocks ? options_.time_cap : end - now() - usual;
    if (measurement_->ask(left) != timing::StoppingRule::Answer::kContinue) return std::nullopt;
  }
}

}  // namespace ww::judge
