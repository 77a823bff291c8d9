// SPDX-License-Identifier: Apache-2.0
//
// Each leaves a process behind that appends to a file until two seconds are over: the runner looks whether it grows.
#include "../probe.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

namespace {

/// Returns in nobody: the process that this becomes ends by itself.
[[noreturn]] void live_on(bool deaf) {
  for (int number = 1; deaf && number < 32; ++number) signal(number, SIG_IGN);
  for (int standard = 0; standard < 3; ++standard) close(standard);
  char path[512];
  snprintf(path, sizeof path, "%s/alive", told("WW_WORK"));
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  for (int i = 0; i < 400; ++i) {
    if (write(fd, "x", 1) != 1) break;
    usleep(5'000);
  }
  _exit(0);
}

Outcome once_it_lives() {
  usleep(60'000);
  return kOut;
}

Outcome daemon() {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) live_on(false);
    _exit(0);
  }
  return once_it_lives();
}

Outcome deaf_daemon() {
  if (fork() == 0) {
    setsid();
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    syscall(SYS_prctl, 0x7'0000'0000L + PR_SET_PDEATHSIG, 0, 0, 0, 0);
    if (fork() == 0) live_on(true);
    _exit(0);
  }
  return once_it_lives();
}

/// A child of our parent, not of ours.
Outcome sibling() {
  const long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child < 0) return kStopped;
  if (child == 0) live_on(true);
  return once_it_lives();
}

Outcome background_job() {
  if (fork() == 0) live_on(false);
  return once_it_lives();
}

Outcome renamed() {
  if (fork() == 0) {
    prctl(PR_SET_NAME, "kworker/0:0", 0, 0, 0);
    setpgid(0, 0);
    live_on(true);
  }
  return once_it_lives();
}

const Act kActs[] = {{"background_job", background_job},
                     {"daemon", daemon},
                     {"deaf_daemon", deaf_daemon},
                     {"sibling_of_its_parent", sibling},
                     {"renamed_process", renamed}};

}  // namespace

PROBE_MAIN(kActs)
