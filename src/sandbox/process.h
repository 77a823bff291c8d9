// SPDX-License-Identifier: Apache-2.0
//
// What a Process holds. Internal to sandbox/.
#pragma once

#include <memory>
#include <optional>

#include "base/fd.h"
#include "sandbox/capture.h"
#include "sandbox/cgroup.h"
#include "sandbox/denial_watch.h"
#include "sandbox/sandbox.h"

namespace ww::sandbox {

struct Process::State {
  pid_t pid = -1;
  Fd pidfd;
  bool own_pid_ns = false;
  Limits limits;
  nanoseconds started{};
  nanoseconds memory_looked_at{};  ///< where no cgroup counts it
  std::unique_ptr<Cgroup> cgroup;  ///< null once it ended
  Capture out, err;
  std::unique_ptr<DenialWatch> denials;  ///< with Spec::denial_fd
  const Isolation* isolation = nullptr;
  std::optional<How> killed_for;
  std::optional<Ended> ended;

  nanoseconds cpu_used() const;
  /// Kills what is over a limit. Returns when to look again.
  nanoseconds apply_limits();
  nanoseconds apply_memory_limit(nanoseconds time);
  void kill_tree(How reason);
  void abandon() noexcept;
  /// Requires: the process has ended, nobody has reaped it.
  void finish();
  How explain(const Ended& result, uint64_t memory_kills) const;
  bool call_was_denied() const { return denials && denials->denied() >= 0; }
};

}  // namespace ww::sandbox
