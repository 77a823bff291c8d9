// SPDX-License-Identifier: Apache-2.0
//
// What the start sequence is asked to do. Internal to sandbox/.
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/isolation.h"

namespace ww::sandbox {

struct Layers {
  bool user_ns = false;
  bool mount_ns = true;
  bool pid_ns = true;
  bool net_ns = true;
  bool ipc_ns = true;  ///< and uts; not reported, they come with the others
  bool own_proc = true;
  bool uid_drop = true;  ///< by setresuid where root, by user_ns where not
  bool landlock = true;
  bool seccomp = true;
};

/// Result of the rehearsal, cached. Thread-safe.
struct Machine {
  Layers layers;
  CgroupPlaces cgroups;
  Isolation isolation;
};
const Machine& machine();

/// True if we hold CAP_SETUID and CAP_SETGID, as root does: programs then run as uid 65534, else as our own uid.
bool changes_identity();

}  // namespace ww::sandbox
