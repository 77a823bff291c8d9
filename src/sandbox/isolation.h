// SPDX-License-Identifier: Apache-2.0
//
// Which layers of isolation this machine and user allow. Found by rehearsal: the real start sequence is run up to, but
// not including, exec, and what fails is left out from then on. Plain data; probe() is thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ww::sandbox {

/// Names are stable: user_ns mount_ns pid_ns net_ns own_proc uid_drop cgroup_memory cgroup_pids cgroup_cpu landlock
/// seccomp.
struct Layer {
  std::string name;
  bool present = false;
  std::string detail;  ///< how it is done, or why it is missing
};

struct Isolation {
  std::vector<Layer> layers;

  bool has(std::string_view name) const;
  /// "full": nothing is missing; "none": neither files nor system calls are restricted; else "partial". user_ns counts
  /// only where uid_drop needs it.
  std::string_view summary() const;
  /// One line a layer, for doctor.
  std::string text() const;
};

/// Cached after the first call (a few tens of ms). Never throws for a missing layer.
const Isolation& probe();

}  // namespace ww::sandbox
