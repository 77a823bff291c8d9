// SPDX-License-Identifier: Apache-2.0
#include "sandbox/namespaces.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "sandbox/sandbox.h"

namespace ww::sandbox {
namespace {

int write_text(const char* path, const char* text) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  const ssize_t size = static_cast<ssize_t>(strlen(text));
  return ::write(file.get(), text, static_cast<size_t>(size)) == size ? 0 : errno;
}

int become(uid_t id) {
  if (::syscall(SYS_setresgid, id, id, id) != 0) return errno;
  if (::syscall(SYS_setresuid, id, id, id) != 0) return errno;
  return 0;
}

}  // namespace

unsigned long namespace_flags(const Layers& layers) {
  unsigned long flags = 0;
  if (layers.user_ns) flags |= CLONE_NEWUSER;
  if (layers.mount_ns) flags |= CLONE_NEWNS;
  if (layers.pid_ns) flags |= CLONE_NEWPID;
  if (layers.net_ns) flags |= CLONE_NEWNET;
  if (layers.ipc_ns) flags |= CLONE_NEWIPC | CLONE_NEWUTS;
  return flags;
}

pid_t fork_into(unsigned long flags, int& pidfd) {
  const long pid = ::syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, nullptr);
  return pid < 0 ? -errno : static_cast<pid_t>(pid);
}

int map_identity(pid_t child) {
  char path[64], text[64];
  const uid_t uid = inside_uid();
  const gid_t gid = changes_identity() ? inside_uid() : ::getegid();
  if (!changes_identity()) {  // the kernel wants this before an unprivileged gid map
    snprintf(path, sizeof path, "/proc/%d/setgroups", child);
    if (const int error = write_text(path, "deny")) return error;
  }
  snprintf(path, sizeof path, "/proc/%d/uid_map", child);
  snprintf(text, sizeof text, "%u %u 1\n", uid, uid);
  if (const int error = write_text(path, text)) return error;
  snprintf(path, sizeof path, "/proc/%d/gid_map", child);
  snprintf(text, sizeof text, "%u %u 1\n", gid, gid);
  return write_text(path, text);
}

int enter_identity() {
  if (::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) != 0) return errno;
  if (::syscall(SYS_setgroups, 0, nullptr) != 0) return errno;
  return become(inside_uid());
}

int leave_session(const Layers& layers) {
  if (::setsid() < 0) return errno;
  if (layers.ipc_ns && ::sethostname("sandbox", 7) != 0) return errno;
  // After joining the cgroups, so that their paths outside do not show. Kernels without it lose only that.
  if (layers.mount_ns) ::unshare(CLONE_NEWCGROUP);
  return 0;
}

int drop_capabilities() {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL) return errno;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

int drop_privileges(const Layers& layers) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  for (unsigned long capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    // Refused without CAP_SETPCAP; harmless then, since no_new_privs keeps exec from giving anything back.
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  if (layers.uid_drop && !layers.user_ns) {
    if (::syscall(SYS_setgroups, 0, nullptr) != 0) return errno;
    if (const int error = become(inside_uid())) return error;
  }
  if (::prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) != 0 && errno != EPERM) return errno;
  return drop_capabilities();
}

}  // namespace ww::sandbox
