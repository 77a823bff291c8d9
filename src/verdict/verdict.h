// SPDX-License-Identifier: Apache-2.0
//
// What was found out about one solution on one task, with evidence. Data only: no measuring, no judging, no scoring.
// docs/formats/verdict.md is the page of the JSON form; its top-level keys are a public promise.
// A time exists only inside a passing Conclusion, so a time without a pass cannot be written down.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fault.h"
#include "base/json_fwd.h"
#include "base/result.h"
#include "task/tensor.h"

namespace ww::verdict {

inline constexpr int kSchema = 1;

/// Closed. `no_verdict` is our fault or the machine's, never the solution's.
enum class Outcome { kPass, kWrong, kBuildError, kCrash, kTimeout, kOutOfMemory, kForbidden, kCheat, kNoVerdict };

std::string_view name(Outcome outcome);
std::optional<Outcome> outcome_from_name(std::string_view text);

/// One side's time for one call, in microseconds. low_us <= time_us <= high_us holds the sampling interval (95 %) and
/// the clock's error; base_us is what was taken off the outer clock, error_us the uncertainty of that.
struct SideTime {
  std::string statistic;  ///< "p25", "median", "sum" (top level)
  double time_us = 0, low_us = 0, high_us = 0;
  double base_us = 0, error_us = 0;
  int64_t samples = 0, discarded = 0;

  bool operator==(const SideTime&) const = default;
};

struct Times {
  SideTime solution;
  std::optional<SideTime> eager, compile, compile_max;

  bool operator==(const Times&) const = default;
};

/// Baseline's time over the solution's, with its 95 % interval: 2.0 is twice as fast. Rewards and rankings use `low`.
struct Ratio {
  double ratio = 0, low = 0, high = 0;

  bool operator==(const Ratio&) const = default;
};

struct Speedup {
  std::optional<Ratio> eager, compile;

  bool operator==(const Speedup&) const = default;
};

/// The whole verdict's figures: times are sums over workloads, ratios geometric means.
struct Timing {
  Times times;
  Speedup speedup;

  bool operator==(const Timing&) const = default;
};

struct WorkloadTiming {
  Times times;
  Speedup speedup;
  std::optional<double> prepare_us;  ///< none: the solution has no ww_prepare

  bool operator==(const WorkloadTiming&) const = default;
};

/// The outcome and what belongs to it. Only a pass can carry figures (none where timing was not asked for); everything
/// else carries a reason.
template <class Figures>
class Conclusion {
 public:
  /// Until it is concluded: no_verdict.
  Conclusion() = default;

  static Conclusion pass(std::optional<Figures> figures) {
    Conclusion conclusion;
    conclusion.outcome_ = Outcome::kPass;
    conclusion.reason_.clear();
    conclusion.figures_ = std::move(figures);
    return conclusion;
  }

  /// Requires: outcome is not kPass; `reason` is not empty.
  static Conclusion failed(Outcome outcome, std::string reason) {
    WW_CHECK(outcome != Outcome::kPass, "a pass is not a failure");
    WW_CHECK(!reason.empty(), "an outcome that is no pass has a reason");
    Conclusion conclusion;
    conclusion.outcome_ = outcome;
    conclusion.reason_ = std::move(reason);
    return conclusion;
  }

  Outcome outcome() const { return outcome_; }
  bool passed() const { return outcome_ == Outcome::kPass; }
  const std::string& reason() const { return reason_; }  ///< "" for a pass
  const std::optional<Figures>& figures() const { return figures_; }

  bool operator==(const Conclusion&) const = default;

 private:
  Outcome outcome_ = Outcome::kNoVerdict;
  std::string reason_ = "not judged";
  std::optional<Figures> figures_;
};

/// The first element that was wrong.
struct Failure {
  std::string workload;
  std::string output;          ///< name of the output
  std::string pattern;         ///< how the inputs were drawn: "source", "large", "nudge" ...
  int64_t trial = 0;           ///< which checked call of the workload, from 0
  std::vector<int64_t> index;  ///< of the element; empty for a 0-dimensional output
  double expected = 0, got = 0;
  double error = 0;  ///< as a fraction of what is allowed; infinity where got is not finite and expected is
  uint64_t input_seed = 0, weight_seed = 0;

  bool operator==(const Failure&) const = default;
};

struct Trials {
  int64_t checked = 0;     ///< calls whose outputs were compared
  int64_t timed = 0;       ///< of these, calls whose time counts
  int64_t honey = 0;       ///< honey rounds that were run
  double worst_error = 0;  ///< largest error seen, as a fraction of what is allowed
  std::optional<Failure> first_failure;

  bool operator==(const Trials&) const = default;
};

enum class EvidenceKind {
  kClockMismatch,    ///< outer clock and claimed inner clock disagree
  kMessageForged,    ///< a done record nobody asked for, another sequence, a malformed one
  kRanWhileStopped,  ///< processor time used, or memory changed, while it was stopped
  kGuardWritten,     ///< a canary beside a buffer changed
  kInputWritten,     ///< an input or a weight changed
  kHoneyFailed,      ///< wrong in a honey round: stale, cached or gated work
  kEscapeAttempt,    ///< a refused system call or file that an honest solution does not need
  kLibrary,          ///< the artifact needs a library that the contract does not allow
  kCompiler,         ///< diagnostics
  kExit,             ///< how a process ended: signal, exit code, which limit
  kLimit,            ///< a named limit of ours: random_forward, data_dependent_shape ...
  kBoundExceeded,    ///< faster than the speed-of-light bound
  kRejudged,         ///< judged again in fresh processes
  kDisturbance,      ///< rounds discarded: throttling, other load
  kConstantsKept,    ///< constant parameters were not redrawn (suite profile kernelbench)
  kBaselineCached,   ///< compile was scaled from eager by a cached ratio
  kConfigSkipped,    ///< a config that refused a workload or failed in tuning
  kIsolation,        ///< a layer that this machine lacks
  kFault,            ///< ours or the machine's, with no_verdict
};

std::string_view name(EvidenceKind kind);
std::optional<EvidenceKind> evidence_kind_from_name(std::string_view text);

struct Evidence {
  EvidenceKind kind = EvidenceKind::kExit;
  std::string text;                                     ///< one sentence for people
  std::vector<std::pair<std::string, double>> numbers;  ///< named with their unit: "excess_us"

  bool operator==(const Evidence&) const = default;
};

struct TaskFacts {
  std::string name, id;

  bool operator==(const TaskFacts&) const = default;
};

struct SolutionFacts {
  std::string path;
  std::string format;  ///< "native", "workspace", "module"
  std::string id;      ///< content hash; "" where the solution could not be read

  bool operator==(const SolutionFacts&) const = default;
};

struct ArtifactFacts {
  std::string id;
  uint64_t bytes = 0;
  double compile_s = 0;  ///< of the compilation that made it, also where it came from the cache
  bool cached = false;
  std::vector<std::string> needs;  ///< DT_NEEDED

  bool operator==(const ArtifactFacts&) const = default;
};

struct JudgeFacts {
  std::string version;
  std::string torch;      ///< of the referee; "" where it did not start
  std::string statistic;  ///< "p25" ...
  double time_cap_s = 0;  ///< of judging one workload

  bool operator==(const JudgeFacts&) const = default;
};

struct DeviceFacts {
  std::string name;      ///< "cpu", "cuda:0"
  std::string model;     ///< "AMD EPYC ..."
  std::string features;  ///< widest vector set, compute capability: "AVX-512", "sm_90"
  int32_t cores = 0, threads = 0;
  std::vector<std::pair<std::string, std::string>> other;  ///< driver, uuid, affinity, OpenMP wait policy ...

  bool operator==(const DeviceFacts&) const = default;
};

struct Isolation {
  std::string level;                 ///< "full", "partial"
  std::vector<std::string> layers;   ///< in force
  std::vector<std::string> missing;  ///< layer and why

  bool operator==(const Isolation&) const = default;
};

struct WorkloadVerdict {
  std::string name;
  std::vector<task::TensorSpec> inputs, outputs;  ///< `shapes` in JSON
  Conclusion<WorkloadTiming> conclusion;
  std::optional<int32_t> config;   ///< the config judged
  std::optional<double> bound_us;  ///< speed-of-light bound of the task
  Trials trials;

  bool operator==(const WorkloadVerdict&) const;
};

struct Verdict {
  Conclusion<Timing> conclusion;
  TaskFacts task;
  SolutionFacts solution;
  std::optional<ArtifactFacts> artifact;  ///< none: there was nothing to load
  JudgeFacts judge;
  DeviceFacts device;
  std::string contract = "{}";  ///< task::to_json(contract) as text
  Isolation isolation;
  std::vector<std::string> weak_task;  ///< straw solutions that pass this task; empty: it is not weak
  std::vector<WorkloadVerdict> workloads;
  Trials trials;  ///< sums over workloads; the worst error; the first failure
  std::vector<Evidence> evidence;
  double elapsed_s = 0;

  Outcome outcome() const { return conclusion.outcome(); }
  bool passed() const { return conclusion.passed(); }
  bool operator==(const Verdict&) const = default;
};

/// Numbers that JSON has no word for are the strings "nan", "inf" and "-inf".
Json to_json(const Verdict& verdict);
/// Strict: unknown schema, missing or unknown keys, times without a pass and disordered intervals are errors that name
/// the key.
Result<Verdict> from_json(const Json& json);

/// The sums of trials of workloads, for the top level.
Trials total(const std::vector<WorkloadVerdict>& workloads);

}  // namespace ww::verdict
