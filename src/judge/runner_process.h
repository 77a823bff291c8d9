// SPDX-License-Identifier: Apache-2.0
//
// One ww-runner in the sandbox with its lent memory: what Runner and ClockTwin have in common. Every exchange is a
// timed call. One thread at a time; the thread that made it must outlive it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "judge/lent_memory.h"
#include "judge/runner_client.h"
#include "judge/timed_call.h"
#include "sandbox/sandbox.h"

namespace ww::judge {

/// Hostile text for a message: what is not printable ASCII becomes a blank.
std::string printable(std::string_view text);

class RunnerProcess {
 public:
  /// Starts it, has it map the memory and lock itself down, and verifies the lock from outside. Nothing hostile has run
  /// when it returns. `loadable.artifact` may be empty (twin). Throws Fault.
  RunnerProcess(const RunnerProcessSetup& setup, const Loadable& loadable, std::vector<WorkloadBuffers> workloads);

  struct Request {
    wire::Operation operation;
    ww_call call = {};
    nanoseconds spin{};
  };
  /// Leaves it stopped. `stage` may be null.
  CallTimes call(const Request& request, const std::function<void()>& stage, nanoseconds limit);

  /// Why a call did not end well, as the kernel tells; ends the process. `doing`: "loading". Requires: the call's end
  /// is not kDone, or it had stray records.
  RunnerFailure end_after(const CallTimes& times, const std::string& doing, nanoseconds limit);

  LentMemory& memory() { return memory_; }
  const LentMemory& memory() const { return memory_; }
  const Endpoint& endpoint() const { return endpoint_; }
  int task_count() const;
  const std::vector<std::string>& missing_layers() const { return missing_layers_; }

 private:
  void enter(nanoseconds limit);
  /// The end of what it wrote to stderr, printable, for a message; "" if nothing.
  std::string last_words() const;

  LentMemory memory_;
  Fd go_;
  Pipe done_;
  device::SharedMemory errors_;  ///< its stderr: fixed size, so that a flood neither blocks nor grows
  sandbox::Process process_;
  Endpoint endpoint_;
  uint64_t sequence_ = 0;
  int threads_;
  std::vector<std::string> missing_layers_;
};

}  // namespace ww::judge
