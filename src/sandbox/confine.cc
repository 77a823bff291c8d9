// SPDX-License-Identifier: Apache-2.0
#include "sandbox/confine.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/fault.h"
#include "sandbox/denial_watch.h"
#include "sandbox/landlock.h"
#include "sandbox/namespaces.h"
#include "sandbox/seccomp.h"

namespace ww::sandbox {
namespace {

/// Returns 0 or an errno. Without a listener at the other end a call would hang for ever: then the filter kills.
int filter_calls(int denial_fd) {
  if (denial_fd >= 0) {
    const int listener = install_notifying_filter(native_runner_filter(::getpid(), OnFatal::kNotify));
    if (listener >= 0) return send_listener(denial_fd, listener);
    ::close(denial_fd);
  }
  return install_filter(native_runner_filter(::getpid(), OnFatal::kKill));
}

}  // namespace

Isolation confine_this_process(const Confinement& confinement) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw_errno("giving up new privileges");
  if (const int error = drop_capabilities()) throw_errno("dropping capabilities", error);
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) throw_errno("closing the process to debuggers");
  Isolation isolation;
  const int abi = landlock_abi();
  if (abi > 0) {
    std::vector<LandlockRule> rules;
    for (const auto& path : confinement.readable) rules.push_back({path.string(), Rights::kRead});
    if (const int error = restrict_files(rules, abi)) throw_errno("restricting files with Landlock", error);
    isolation.layers.push_back({"landlock", true, "ABI " + std::to_string(abi)});
  } else {
    isolation.layers.push_back({"landlock", false, "not in this kernel"});
  }
  const int error = filter_calls(confinement.denial_fd);
  if (error != 0 && error != ENOSYS) throw_errno("installing the system call filter", error);
  isolation.layers.push_back({"seccomp", error == 0, error == 0 ? "" : "not in this kernel"});
  return isolation;
}

}  // namespace ww::sandbox
