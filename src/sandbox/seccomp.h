// SPDX-License-Identifier: Apache-2.0
//
// System call filters, written down as rules and compiled to BPF by libseccomp (behind this door). Internal to
// sandbox/.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

namespace ww::sandbox {

using Filter = std::vector<sock_filter>;

/// For compilers, shells and Python with torch: everything that needs no privilege, less new namespaces, mounts,
/// ptrace, sockets other than unix ones, and kernel interfaces with a history. What is denied fails with an errno.
/// Thread-safe, compiled once. Throws Fault.
const Filter& tools_filter();

/// For hostile native code beside a trusted loader in the process `self`: a list of what is allowed; see confine.h.
/// What is fatal kills, or notifies a listener. Throws Fault.
enum class OnFatal { kKill, kNotify };
Filter native_runner_filter(int self, OnFatal on_fatal);

/// [child] Installs `filter` on all threads of the process. Returns 0 or an errno. Requires: no_new_privs.
int install_filter(const Filter& filter);

/// The same; returns the listener's descriptor or -errno.
int install_notifying_filter(const Filter& filter);

/// "connect"; "" if unknown.
std::string syscall_name(int number);

}  // namespace ww::sandbox
