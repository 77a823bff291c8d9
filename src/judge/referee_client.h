// SPDX-License-Identifier: Apache-2.0
//
// The judge's side of the referee (docs/formats/referee.md): one warm parent in the sandbox, and a child per task that
// runs the reference. What a child says is a claim: it runs task code. One thread at a time, and the parent dies with
// the thread that started it.
//
// What a request may end in:
// - a value;
// - Error: the task is at fault, or beyond a named limit, or its process ended or did not answer in time (it is then
//   killed). `where` is "model.py:12" where a line is known. RefereeChild::refusal() tells these apart;
// - Fault: ours, the machine's, or a reply that is not what the protocol says.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json_fwd.h"
#include "base/message_socket.h"
#include "base/result.h"
#include "judge/timed_call.h"
#include "sandbox/sandbox.h"
#include "task/task.h"
#include "task/tensor.h"

namespace ww::judge {

struct RefereeSettings {
  std::filesystem::path python;               ///< an interpreter that can import torch
  std::filesystem::path package_folder;       ///< holds warpwright/
  std::vector<std::string> environment = {};  ///< "NAME=value": OMP_* and the like, equal on all sides
  std::vector<int> cpus = {};                 ///< affinity; empty: as the caller's
  uint64_t memory_bytes = 0;                  ///< private memory of one child; 0: most of what the machine has
  uint64_t scratch_bytes = 2ull << 30;        ///< /tmp, where torch.compile builds
  milliseconds start_limit{60'000};           ///< to import torch from a cold disk
};

enum class RefereeSide { kEager, kCompile, kCompileMax, kSpin };
enum class RefereeRegion { kExpected, kOther };

struct LoadRequest {
  std::string workload;
  std::string filename;  ///< for messages and tracebacks
  std::string source;
  std::string set = "{}";  ///< JSON object: module-level constants
  task::Contract contract;
  bool check = false;  ///< the slow admission questions too
};

/// What `load` found. `reply` is the whole of it, for what has no field here (init, tree, input_tree).
struct Loaded {
  std::vector<task::TensorSpec> inputs;
  std::vector<task::TensorSpec> weights;
  std::vector<task::TensorSpec> outputs;  ///< mutated buffers last
  std::vector<std::string> mutates;
  std::vector<std::string> straws;
  std::vector<std::string> notes;
  std::shared_ptr<const Json> reply;
};

/// Byte offsets in the arena, one per spec; none where there is no data (`none` arguments, truth of integers).
struct RefereeLayout {
  using Offsets = std::vector<std::optional<uint64_t>>;
  Offsets inputs, weights, expected, truth, other;
};

struct DrawRequest {
  std::optional<uint64_t> input_seed;   ///< none: the present inputs stay
  std::optional<uint64_t> weight_seed;  ///< none: the present weights stay
  std::string pattern = "source";
};

struct Expectation {
  bool finite = false;
  bool truth_available = false;
};

struct Compiled {
  double seconds = 0;  ///< torch's own first compilation and call
  int graphs = 0;
  int breaks = 0;
  int recompiles = 0;
};

/// A forked child: one task's workloads, or a twin. Ends with this object. Answers only while it is not stopped.
class RefereeChild {
 public:
  enum class Refusal { kNone, kTask, kLimit, kEnded, kTimeout };

  RefereeChild(const RefereeChild&) = delete;
  ~RefereeChild();

  /// For timed_call(), stop() and resume(). The pid is the kernel's word, not the child's.
  const Endpoint& endpoint() const;
  /// Why the last request gave an Error. After kEnded and kTimeout every request does.
  Refusal refusal() const;

  Result<Loaded> load(const LoadRequest& request, nanoseconds limit);
  /// `arena` stays the caller's.
  Status attach(const std::string& workload, const RefereeLayout& layout, int arena, nanoseconds limit);
  Status draw(const std::string& workload, const DrawRequest& request, nanoseconds limit);
  Result<Expectation> expect(const std::string& workload, bool truth, nanoseconds limit);
  /// Why the straw does not apply, or none: its outputs lie in `other`.
  Result<std::optional<std::string>> straw(const std::string& workload, const std::string& name, nanoseconds limit);
  Result<Compiled> compile(const std::string& workload, RefereeSide side, nanoseconds limit);
  /// Afterwards the child waits on go for one timed_call() with this sequence, and answers nothing until then.
  /// `spin` is used by kSpin, which needs no workload.
  Status stage(const std::string& workload, RefereeSide side, uint64_t sequence, nanoseconds spin, nanoseconds limit);
  /// What the last timed call returned.
  Status collect(const std::string& workload, RefereeRegion into, nanoseconds limit);
  /// Floating-point operations of one forward, as torch counts them.
  Result<double> flops(const std::string& workload, nanoseconds limit);
  /// docs/formats/graph.md.
  Result<Json> capture(const std::string& workload, nanoseconds limit);

 private:
  friend class RefereeParent;
  struct State;
  explicit RefereeChild(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class RefereeParent {
 public:
  /// Starts it and waits until torch is imported. Throws Fault: no torch, no sandbox.
  explicit RefereeParent(const RefereeSettings& settings);
  RefereeParent(const RefereeParent&) = delete;
  /// Ends it and all its children.
  ~RefereeParent();

  const std::string& torch_version() const;
  const std::string& python_version() const;
  /// Layers that its sandbox lacks.
  const std::vector<std::string>& missing_layers() const;

  /// Imports what torch.compile needs, once; children opened later inherit it (else each pays seconds). Throws Fault.
  void prepare_compiler(nanoseconds limit);

  /// Throws Fault.
  std::unique_ptr<RefereeChild> open(int threads, bool twin = false);

  /// What children are asked from now on is answered by then or counts as not answered in time; nullopt: only each
  /// request's own limit counts.
  void set_deadline(std::optional<nanoseconds> deadline);

  /// One child that ended, as the kernel told the parent. Pids are the sandbox's.
  struct EndedChild {
    pid_t pid = 0;
    std::optional<int> exit;
    std::optional<int> signal;
  };
  /// Those that ended since the last asking. Throws Fault.
  std::vector<EndedChild> reaped();

 private:
  friend class RefereeChild;
  struct State;
  std::shared_ptr<State> state_;
};

/// Sets a deadline while it lives.
class ReplyDeadline {
 public:
  ReplyDeadline(RefereeParent& parent, nanoseconds deadline) : parent_(parent) { parent_.set_deadline(deadline); }
  ReplyDeadline(const ReplyDeadline&) = delete;
  ~ReplyDeadline() { parent_.set_deadline(std::nullopt); }

 private:
  RefereeParent& parent_;
};

}  // namespace ww::judge
