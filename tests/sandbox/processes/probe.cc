// SPDX-License-Identifier: Apache-2.0
#include "../probe.h"

#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <mqueue.h>

namespace {

pid_t victim() { return static_cast<pid_t>(atoi(told("WW_VICTIM"))); }

long open_pidfd() { return syscall(SYS_pidfd_open, victim(), 0); }

Outcome see() {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/stat", victim());
  return out_if(access(path, F_OK) == 0 || kill(victim(), 0) == 0);
}

Outcome read_memory() {
  char byte;
  iovec local = {&byte, 1}, remote = {&local, 1};
  return out_if(process_vm_readv(victim(), &local, 1, &remote, 1, 0) == 1 || errno == EFAULT);
}

Outcome write_memory() {
  char byte = 0;
  iovec local = {&byte, 1}, remote = {nullptr, 1};  // nothing is mapped at 0
  return out_if(process_vm_writev(victim(), &local, 1, &remote, 1, 0) == 1 || errno == EFAULT);
}

Outcome take_descriptor() {
  const long pidfd = open_pidfd();
  return out_if(pidfd >= 0 && syscall(SYS_pidfd_getfd, pidfd, 0, 0) >= 0);
}

Outcome trace_own_child() {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const bool traced = ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
  kill(child, SIGKILL);
  return out_if(traced);
}

Outcome move_to_core() {
  cpu_set_t cpus;
  if (sched_getaffinity(victim(), sizeof cpus, &cpus) != 0) return kStopped;
  return out_if(sched_setaffinity(victim(), sizeof cpus, &cpus) == 0);
}

Outcome change_limit() {
  rlimit limit;
  if (prlimit(victim(), RLIMIT_NOFILE, nullptr, &limit) != 0) return kStopped;
  return out_if(prlimit(victim(), RLIMIT_NOFILE, &limit, nullptr) == 0);
}

Outcome queue_signal() {
  sigval value = {};
  return out_if(sigqueue(victim(), SIGURG, value) == 0);
}

Outcome advise_memory() {
  const long pidfd = open_pidfd();
  iovec range = {nullptr, 4096};
  constexpr int kCold = 20;
  const long result = pidfd < 0 ? -1 : syscall(SYS_process_madvise, pidfd, &range, 1, kCold, 0);
  return out_if(pidfd >= 0 && (result >= 0 || errno == ENOMEM));
}

/// Memory and message queues have names of their own, beside the file system.
Outcome shared_memory() {
  return out_if(shmget(static_cast<key_t>(atoi(told("WW_SHM_KEY"))), 0, 0) >= 0);
}

Outcome posix_memory() {
  char path[128];
  snprintf(path, sizeof path, "/dev/shm%s", told("WW_QUEUE"));
  return out_if(can_read(path));
}

Outcome message_queue() {
  // The C library asks the kernel with the name less its slash.
  return out_if(syscall(SYS_mq_open, told("WW_QUEUE") + 1, O_RDONLY, 0, nullptr) >= 0);
}

const Act kActs[] = {
    {"see_process", see},
    {"signal_process", [] { return out_if(kill(victim(), SIGURG) == 0); }},
    {"signal_by_queue", queue_signal},
    {"signal_thread", [] { return out_if(syscall(SYS_tkill, victim(), SIGURG) == 0); }},
    {"signal_by_pidfd",
     [] {
       const long pidfd = open_pidfd();
       return out_if(pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, SIGURG, nullptr, 0) == 0);
     }},
    {"trace_process", [] { return out_if(ptrace(PTRACE_SEIZE, victim(), nullptr, nullptr) == 0); }},
    {"trace_own_child", trace_own_child},
    {"read_process_memory", read_memory},
    {"write_process_memory", write_memory},
    {"take_descriptor_of_process", take_descriptor},
    {"compare_with_process",
     [] {
       constexpr int kFile = 0;
       return out_if(syscall(SYS_kcmp, getpid(), victim(), kFile, 0, 0) >= 0);
     }},
    {"move_process_to_core", move_to_core},
    {"renice_process", [] { return out_if(setpriority(PRIO_PROCESS, static_cast<id_t>(victim()), 1) == 0); }},
    {"limit_process", change_limit},
    {"advise_process_memory", advise_memory},
    {"open_shared_memory", shared_memory},
    {"open_posix_shared_memory", posix_memory},
    {"open_message_queue", message_queue}};

}  // namespace

PROBE_MAIN(kActs)
