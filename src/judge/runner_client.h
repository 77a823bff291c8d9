// SPDX-License-Identifier: Apache-2.0
//
// The judge's side of one native runner (docs/formats/runner.md): starts ww-runner in the sandbox, lends it memory,
// loads the artifact there, and makes measured calls. Everything the runner says is a claim; what is reported here as
// fact comes from the kernel. Never waits without a limit. One thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "judge/lent_memory.h"
#include "judge/timed_call.h"

namespace ww::judge {

/// What a runner did instead of its work. Data about the solution, never a fault of ours.
struct RunnerFailure {
  enum class Kind {
    kNotLoadable,  ///< dlopen refused it; text is the loader's
    kWrongAbi,
    kNoForward,
    kAbsurd,     ///< sizes or config count beyond the limits
    kCrash,      ///< ended by a signal, or exited
    kForbidden,  ///< ended by the system-call filter
    kOutOfMemory,
    kTimeout,   ///< it has been killed
    kProtocol,  ///< forged, repeated or malformed done records, closed descriptors: evidence of cheating
    kStatus,    ///< ww_forward or ww_prepare returned neither WW_OK nor WW_UNSUPPORTED
  };
  Kind kind = Kind::kCrash;
  std::string text;  ///< one line, names signal, exit code, limit or size
};

struct RunnerLimits {
  milliseconds load{10'000};            ///< from start to loaded
  milliseconds call{60'000};            ///< one call of any kind
  uint64_t memory_bytes = 4ull << 30;   ///< of the runner itself; lent memory is the judge's
  uint64_t scratch_bytes = 1ull << 30;  ///< largest packed buffer, and largest workspace
  uint64_t twice_bytes = 1ull << 30;    ///< two placements where both copies of a workload's data fit in
  int max_threads = 256;
};

/// What both the runner and its clock twin need. Settings that bear on time are equal on all sides.
struct RunnerProcessSetup {
  std::filesystem::path program;  ///< ww-runner
  int threads = 1;
  std::vector<std::string> environment;  ///< "NAME=value": OMP_* and the like; nothing else is inherited
  std::vector<int> cpus;                 ///< affinity; empty: as the caller's
  RunnerLimits limits;
};

struct Loadable {
  std::filesystem::path artifact;           ///< solution.so; mounted read-only at /solution/solution.so
  std::vector<std::string> libraries = {};  ///< sonames it may load: those it links; no other file can be opened
};

struct RunnerSetup {
  RunnerProcessSetup process;
  Loadable loadable;
  std::vector<WorkloadBuffers> workloads;
};

struct CallChoice {
  size_t workload = 0;
  int32_t config = 0;
  int placement = 0;
};

struct CallReport {
  CallTimes times;
  std::optional<RunnerFailure> failure = {};  ///< none: done with status 0, or `unsupported`
  bool unsupported = false;                   ///< WW_UNSUPPORTED
  std::vector<std::string> overwritten = {};  ///< "output out: 3 bytes after its end": canaries found broken
  int threads = 0;                            ///< tasks in the process after the call, as the kernel counts them
};

class Runner {
 public:
  /// Loads the artifact. Throws Fault where the sandbox cannot be made.
  static std::variant<std::unique_ptr<Runner>, RunnerFailure> start(const RunnerSetup& setup);
  ~Runner();

  int32_t config_count() const;
  /// For the calls from here on, in place of RunnerLimits::call.
  void limit_calls(milliseconds limit);
  LentWorkload& lent(size_t workload);

  /// Asks the sizes for (workload, config), sets packed and workspace up, then calls ww_prepare if there is one:
  /// `times.outer` is its time (weights must have been staged). Afterwards forward() takes this workload and config.
  struct Prepared {
    ScratchSizes sizes;
    CallReport call;  ///< zero times where there is no ww_prepare
    bool has_prepare = false;
  };
  std::variant<Prepared, RunnerFailure> prepare(size_t workload, int32_t config);

  /// One measured call. `stage` (may be null) writes inputs, weights and mutated buffers while the runner is stopped,
  /// after poison and before the flush; it may be called again (restaging). Leaves the runner stopped.
  /// Requires: prepare() succeeded last for this workload and config.
  CallReport forward(const CallChoice& choice, const std::function<void()>& stage);

  /// Outputs are valid only between a forward() without failure and the next call.
  const Endpoint& endpoint() const;
  pid_t pid() const;
  bool alive() const;
  /// What isolation the sandbox reached, as text for the verdict (docs/formats/runner.md).
  const std::vector<std::string>& missing_layers() const;

 private:
  struct State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ww::judge
