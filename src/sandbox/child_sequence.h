// SPDX-License-Identifier: Apache-2.0
//
// What happens in the new process between fork and exec: no allocation, no exceptions, no locks; a failure is one
// Report on the status pipe and _exit. Internal to sandbox/.
#pragma once

#include <sched.h>
#include <sys/resource.h>

#include <cstdint>
#include <vector>

#include "sandbox/landlock.h"
#include "sandbox/layers.h"
#include "sandbox/mounts.h"
#include "sandbox/seccomp.h"

namespace ww::sandbox {

enum class Step : int32_t {
  kParent,  ///< the parent is gone, or gave up
  kCgroup,
  kSession,
  kIdentity,
  kRoot,
  kMount,  ///< `index` into the mount plan
  kWorkFolder,
  kLimits,
  kAffinity,
  kDescriptors,
  kPrivileges,
  kLandlock,
  kSeccomp,
  kExec,
  kRehearsed,  ///< all of it would have worked
};

struct Report {
  Step step = Step::kRehearsed;
  int32_t index = -1;
  int32_t error = 0;  ///< errno
};

struct ResourceLimit {
  int resource;
  rlim_t value;
};

struct DescriptorMove {
  int from;    ///< in the parent
  int to;      ///< inside
  int parked;  ///< used by the child
};

/// All that the child needs, made by the parent beforehand.
struct Launch {
  Layers layers;
  bool rehearse = false;
  std::vector<char*> argv, env;  ///< null-terminated
  const char* work_folder = nullptr;
  std::vector<MountStep> mounts;
  std::vector<int> trees;  ///< as long as `mounts`
  std::vector<LandlockRule> rules;
  int landlock_abi = 0;
  const Filter* filter = nullptr;
  std::vector<ResourceLimit> limits;
  std::vector<int> cgroups;  ///< see Cgroup::join_fds
  std::vector<DescriptorMove> descriptors;
  bool pin = false;
  cpu_set_t cpus;
  int gate = -1;         ///< read end: one byte is the parent's go
  int gate_writer = -1;  ///< the parent's ends, as inherited by the child
  int status = -1;       ///< write end, close-on-exec
  int status_reader = -1;
};

/// Requires: all signals are blocked. Never returns.
[[noreturn]] void run_child_sequence(Launch& launch);

}  // namespace ww::sandbox
