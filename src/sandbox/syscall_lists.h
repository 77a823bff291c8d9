// SPDX-License-Identifier: Apache-2.0
//
// The lists behind the two filters of seccomp.h. Internal to sandbox/.
#pragma once

#include <vector>

namespace ww::sandbox {

using SyscallList = std::vector<const char*>;

const SyscallList& denied_to_tools();
/// Allowed to tools under conditions on their arguments.
const SyscallList& conditional_for_tools();

const SyscallList& allowed_to_runner();
/// Fail with EPERM: honest libraries ask for them and go on without.
const SyscallList& refused_to_runner();
/// End the process: no honest solution calls them.
const SyscallList& fatal_to_runner();
const std::vector<int>& fcntl_commands_of_runner();
const std::vector<int>& prctl_options_of_runner();
const std::vector<unsigned long>& ioctl_requests_of_runner();

}  // namespace ww::sandbox
