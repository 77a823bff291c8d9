// SPDX-License-Identifier: Apache-2.0
//
// Interfaces of the kernel that have been ways out before. Each is called so that it works where it is allowed.
#include "../probe.h"

#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <termios.h>

namespace {

bool makes_by_clone(unsigned long flag) {
  const long child = syscall(SYS_clone, flag | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) _exit(0);
  return child > 0;
}

Outcome user_by_clone() { return out_if(makes_by_clone(CLONE_NEWUSER)); }
Outcome user_by_wide_clone() { return out_if(makes_by_clone(0x7'0000'0000ul | CLONE_NEWUSER)); }

Outcome user_by_clone3() {
  clone_args arguments = {};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  const long child = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) _exit(0);
  return out_if(child > 0);
}

bool write_text(const char* path, const char* text) {
  const int fd = open(path, O_WRONLY);
  const bool wrote = fd >= 0 && write(fd, text, strlen(text)) > 0;
  close(fd);
  return wrote;
}

/// A second user namespace in the first, each with all capabilities inside.
Outcome nested_user() {
  for (int depth = 0; depth < 3; ++depth) {
    char uids[32], gids[32];
    snprintf(uids, sizeof uids, "0 %u 1", geteuid());
    snprintf(gids, sizeof gids, "0 %u 1", getegid());
    if (unshare(CLONE_NEWUSER) != 0) return kStopped;
    // Whoever has no number in a namespace cannot make another one.
    write_text("/proc/self/setgroups", "deny");
    if (!write_text("/proc/self/uid_map", uids) || !write_text("/proc/self/gid_map", gids)) return kStopped;
  }
  return kOut;
}

Outcome enter_namespace() {
  const int fd = open("/proc/self/ns/uts", O_RDONLY);
  if (fd < 0) return untriable("no namespaces in /proc");
  return out_if(setns(fd, CLONE_NEWUTS) == 0);
}

Outcome mount_tmpfs() { return out_if(mount("tmpfs", told("WW_WORK"), "tmpfs", 0, nullptr) == 0); }
Outcome new_file_system() { return out_if(syscall(SYS_fsopen, "tmpfs", 0) >= 0); }
Outcome clone_tree() { return out_if(syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */) >= 0); }

Outcome pivot() {
  if (mount(told("WW_WORK"), told("WW_WORK"), nullptr, MS_BIND, nullptr) != 0) return kStopped;
  if (chdir(told("WW_WORK")) != 0) return kStopped;
  return out_if(syscall(SYS_pivot_root, ".", ".") == 0);
}

Outcome io_uring() {
  io_uring_params parameters = {};
  return out_if(syscall(SYS_io_uring_setup, 4, &parameters) >= 0);
}

Outcome bpf_map() {
  bpf_attr attributes = {};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  return out_if(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes) >= 0);
}

Outcome perf_event() {
  perf_event_attr attributes = {};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  return out_if(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0);
}

Outcome keyring() { return out_if(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0) >= 0); }
Outcome add_key() {
  constexpr long kProcessKeyring = -2;
  return out_if(syscall(SYS_add_key, "user", "ww", "x", 1, kProcessKeyring) >= 0);
}
Outcome request_key() {
  const long key = syscall(SYS_request_key, "user", "ww-no-such-key", nullptr, 0);
  return out_if(key >= 0 || errno == ENOKEY);
}

/// The loader looks at the image only if it would load one.
Outcome load_module() {
  const char image[64] = "no module";
  return out_if(syscall(SYS_init_module, image, sizeof image, "") == 0 || errno == ENOEXEC);
}

Outcome local_descriptors() {
  char table[16];
  return out_if(syscall(SYS_modify_ldt, 0, table, sizeof table) >= 0);
}

Outcome other_abi() {
  long result = 0;
  asm volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid */) : "memory");
  return out_if(result > 0);
}

Outcome x32_abi() { return out_if(syscall(0x40000000 + SYS_getpid) > 0 || errno == ENOSYS); }

Outcome adjust_clock() {
  timex nothing = {};
  return out_if(adjtimex(&nothing) >= 0);
}

Outcome no_randomisation() { return out_if(personality(ADDR_NO_RANDOMIZE) >= 0); }

/// Types into the terminal that the program which started us reads from.
Outcome type_into_terminal() {
  int terminal = open("/dev/tty", O_RDWR);
  if (terminal < 0) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return kStopped;
    terminal = open(ptsname(master), O_RDWR);
    ioctl(terminal, TIOCSCTTY, 0);
  }
  char key = 'x';
  return out_if(ioctl(terminal, TIOCSTI, &key) == 0);
}

/// The same request to the kernel, on any descriptor: whoever denies it says EPERM before looking at the descriptor.
Outcome typing_reaches_kernel() {
  char key = 'x';
  const long result = syscall(SYS_ioctl, open("/dev/null", O_RDWR), 0x7'0000'0000L | TIOCSTI, &key);
  return out_if(result < 0 && errno == ENOTTY);
}

Outcome core_dump() {
  rlimit limit;
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CORE, &limit);
  if (chdir(told("WW_WORK")) != 0) return untriable("no work folder");
  const pid_t child = fork();
  if (child == 0) abort();
  int status = 0;
  waitpid(child, &status, 0);
  return out_if(WCOREDUMP(status));
}

const Act kActs[] = {{"new_user_namespace", [] { return out_if(unshare(CLONE_NEWUSER) == 0); }},
                     {"new_user_namespace_by_clone", user_by_clone},
                     {"new_user_namespace_by_wide_clone", user_by_wide_clone},
                     {"new_user_namespace_by_clone3", user_by_clone3},
                     {"nested_user_namespaces", nested_user},
                     {"new_mount_namespace", [] { return out_if(unshare(CLONE_NEWNS) == 0); }},
                     {"enter_namespace", enter_namespace},
                     {"mount_tmpfs", mount_tmpfs},
                     {"new_file_system", new_file_system},
                     {"clone_mount_tree", clone_tree},
                     {"pivot_root", pivot},
                     {"io_uring", io_uring},
                     {"bpf_map", bpf_map},
                     {"perf_event", perf_event},
                     {"userfaultfd", [] { return out_if(syscall(SYS_userfaultfd, O_CLOEXEC) >= 0); }},
                     {"join_keyring", keyring},
                     {"add_key", add_key},
                     {"request_key", request_key},
                     {"load_module", load_module},
                     {"local_descriptor_table", local_descriptors},
                     {"other_system_call_abi", other_abi},
                     {"x32_system_call_abi", x32_abi},
                     {"kernel_messages", [] { return out_if(klogctl(10 /* size */, nullptr, 0) >= 0); }},
                     {"adjust_clock", adjust_clock},
                     {"watch_file_system", [] { return out_if(fanotify_init(FAN_CLASS_NOTIF, O_RDONLY) >= 0); }},
                     {"switch_off_randomisation", no_randomisation},
                     {"type_into_terminal", type_into_terminal},
                     {"typing_reaches_kernel", typing_reaches_kernel},
                     {"core_dump", core_dump}};

}  // namespace

PROBE_MAIN(kActs)
