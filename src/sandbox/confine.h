// SPDX-License-Identifier: Apache-2.0
//
// A program that start() began locks itself down for good, right before it loads hostile code into itself.
#pragma once

#include <filesystem>
#include <vector>

#include "sandbox/isolation.h"

namespace ww::sandbox {

struct Confinement {
  /// Files and folders that stay readable and executable (dlopen). Nothing can be opened for writing.
  std::vector<std::filesystem::path> readable;
  /// Spec::denial_fd of the Spec that started us; closed by the call. -1: denied calls end the process all the same,
  /// but unnamed.
  int denial_fd = -1;
};

/// No new privileges, no capabilities, not dumpable, Landlock, then the native runner's system call filter on all
/// threads. Afterwards: memory, threads (no processes), reading `readable`, descriptors already open (read, write,
/// sendmsg, recvmsg, eventfd, poll), clocks, sleeping, signals to itself. Harmless probing fails (EPERM, ENOSYS);
/// fork, exec, new sockets, ptrace, other processes' memory, namespaces, mounts, io_uring, bpf and the like end the
/// process. Cannot be undone. Requires: called once; before hostile code runs; threads that
/// exist already are filtered, but Landlock reaches only the caller and what it starts later. Paths that do not exist
/// are skipped. Returns the layers landlock and seccomp as obtained; throws Fault where the kernel has them and
/// refuses.
Isolation confine_this_process(const Confinement& confinement);

}  // namespace ww::sandbox
