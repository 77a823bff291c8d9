// SPDX-License-Identifier: Apache-2.0
#include "../probe.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

namespace {

/// A copy of `id` that belongs to root and becomes root where it may.
Outcome setuid_program() {
  const char* program = told("WW_SETUID");
  struct stat facts;
  if (stat(program, &facts) != 0) return untriable("there is no such program");
  if (facts.st_uid != 0 || !(facts.st_mode & S_ISUID)) return untriable("only root can make such a program");
  int ends[2];
  if (pipe(ends) != 0) return untriable("no pipe");
  if (fork() == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    dup2(ends[1], 1);
    execl(program, "id", "-u", nullptr);
    _exit(1);
  }
  close(ends[1]);
  char said[16] = "";
  if (read(ends[0], said, sizeof said - 1) <= 0) return untriable("the program did not run");
  return out_if(strcmp(said, "0\n") == 0);
}

Outcome capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return kStopped;
  return out_if(sets[0].effective != 0 || sets[0].permitted != 0 || sets[0].inheritable != 0);
}

Outcome gain_capability() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  sets[0].effective = sets[0].permitted = 1u << CAP_SYS_ADMIN;
  return out_if(syscall(SYS_capset, &header, sets) == 0);
}

Outcome device_node() {
  char path[512];
  snprintf(path, sizeof path, "%s/null", told("WW_WORK"));
  unlink(path);
  return out_if(mknod(path, S_IFCHR | 0666, makedev(1, 3)) == 0 && can_open_for_writing(path));
}

Outcome give_away() {
  char path[512];
  snprintf(path, sizeof path, "%s/given", told("WW_WORK"));
  const int fd = open(path, O_WRONLY | O_CREAT, 0666);
  if (fd < 0) return untriable("no file can be made");
  return out_if(fchown(fd, 0, 0) == 0 && fchmod(fd, 04755) == 0);
}

Outcome raise_limit() {
  rlimit limit = {1u << 19, 1u << 19};
  rlimit present;
  getrlimit(RLIMIT_NOFILE, &present);
  if (present.rlim_max >= limit.rlim_max) limit.rlim_cur = limit.rlim_max = present.rlim_max + 1;
  return out_if(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

Outcome real_time() {
  sched_param parameters = {};
  parameters.sched_priority = 1;
  return out_if(sched_setscheduler(0, SCHED_FIFO, &parameters) == 0);
}

Outcome real_time_disk() {
  constexpr int kProcess = 1, kRealTime = 1 << 13;
  return out_if(syscall(SYS_ioprio_set, kProcess, 0, kRealTime) == 0);
}

Outcome rename_machine() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return out_if(sethostname(name, strlen(name)) == 0);
}

Outcome new_privileges() { return out_if(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0); }

const Act kActs[] = {{"become_root", [] { return out_if(setuid(0) == 0 && setgid(0) == 0); }},
                     {"change_groups", [] { return out_if(setgroups(0, nullptr) == 0); }},
                     {"become_somebody_else", [] { return out_if(setresuid(12345, 12345, 12345) == 0); }},
                     {"run_setuid_program", setuid_program},
                     {"hold_capabilities", capabilities},
                     {"gain_capability", gain_capability},
                     {"gain_privileges_at_exec", new_privileges},
                     {"make_device_node", device_node},
                     {"give_file_to_root", give_away},
                     {"raise_limit", raise_limit},
                     {"raise_priority", [] { return out_if(setpriority(PRIO_PROCESS, 0, -5) == 0); }},
                     {"real_time_priority", real_time},
                     {"real_time_disk_priority", real_time_disk},
                     {"rename_machine", rename_machine}};

}  // namespace

PROBE_MAIN(kActs)
