// SPDX-License-Identifier: Apache-2.0
//
// The parent's half of starting: prepares a Launch, forks, opens the gate, reads the report. Internal to sandbox/.
#pragma once

#include <optional>

#include "base/fd.h"
#include "sandbox/child_sequence.h"
#include "sandbox/sandbox.h"

namespace ww::sandbox {

struct Started {
  pid_t pid = -1;
  Fd pidfd;
  /// What went wrong (the child is reaped then). None: exec has happened, or the child was killed before it.
  std::optional<Report> report;
  int clone_error = 0;  ///< errno, where not even a process came of it
};

/// `standard` is what 0, 1, 2 (and other numbers of ours) are inside, unless the spec hands over something else there.
/// Borrows from `spec`, which must stay alive.
Launch prepare(const Spec& spec, const Layers& layers, const Cgroup* cgroup, std::vector<HandedFd> standard);

/// Forks and returns once the child has reported or exec'ed.
Started launch_child(Launch& launch);

}  // namespace ww::sandbox
