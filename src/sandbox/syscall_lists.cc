// SPDX-License-Identifier: Apache-2.0
#include "sandbox/syscall_lists.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>

namespace ww::sandbox {

const SyscallList& denied_to_tools() {
  static const SyscallList list = {
      // other processes
      "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_getfd", "kcmp",
      "move_pages", "migrate_pages",
      // namespaces and mounts
      "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig",
      "fsmount", "fspick", "mount_setattr", "open_by_handle_at", "name_to_handle_at", "fanotify_init", "fanotify_mark",
      // kernel interfaces with a history
      "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter",
      "io_uring_register", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
      "modify_ldt", "iopl", "ioperm", "lookup_dcookie", "vhangup", "acct", "quotactl", "quotactl_fd", "swapon",
      "swapoff", "reboot", "syslog", "uselib", "nfsservctl",
      // clocks; not sched_setaffinity: MKL visits every core to learn the topology, and where it may not it uses one
      // thread
      "settimeofday", "clock_settime", "clock_adjtime", "adjtimex"};
  return list;
}

const SyscallList& conditional_for_tools() {
  static const SyscallList list = {"clone", "socket", "socketpair", "personality", "prctl", "ioctl"};
  return list;
}

const SyscallList& allowed_to_runner() {
  static const SyscallList list = {
      // memory, executable too: oneDNN compiles its kernels at run time
      "mmap", "mprotect", "munmap", "mremap", "madvise", "brk", "mincore", "msync", "membarrier", "mlock", "munlock",
      "get_mempolicy",
      // threads
      "futex", "set_robust_list", "get_robust_list", "rseq", "set_tid_address", "sched_yield", "gettid", "getpid",
      "exit", "exit_group", "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_get_priority_max",
      "sched_get_priority_min", "getpriority", "getcpu", "restart_syscall",
      // clocks
      "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getitimer",
      // signals within the process
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend",
      "sigaltstack", "pause",
      // descriptors that are open already, and reading files
      "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "lseek",
      "close", "dup", "dup2", "dup3", "fstat", "stat", "lstat", "newfstatat", "statx", "statfs", "fstatfs", "access",
      "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64", "fadvise64", "poll", "ppoll",
      "select", "pselect6", "epoll_create1", "epoll_create", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2",
      "pipe", "pipe2", "sendto", "sendmsg", "recvfrom", "recvmsg", "getsockopt", "shutdown",
      // facts
      "uname", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "getppid", "getpgrp",
      "getpgid", "getsid", "getrlimit", "getrusage", "sysinfo", "getrandom", "arch_prctl", "capget"};
  return list;
}

const SyscallList& refused_to_runner() {
  static const SyscallList list = {
      "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "setpriority", "set_mempolicy",
      "mbind", "migrate_pages", "move_pages", "ioprio_set", "setrlimit", "memfd_create", "mlockall", "munlockall",
      // timers would reach into a later call
      "setitimer", "alarm", "timer_create", "timer_settime", "timerfd_create", "timerfd_settime", "signalfd4", "shmget",
      "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open",
      "mq_unlink",
      // the file system is read-only
      "creat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat",
      "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown",
      "fchownat", "truncate", "ftruncate", "fallocate", "utime", "utimes", "utimensat", "fsync", "fdatasync", "sync",
      "flock", "umask", "inotify_init1", "inotify_add_watch", "setsockopt", "capset"};
  return list;
}

const SyscallList& fatal_to_runner() {
  static const SyscallList list = {
      // processes
      "fork", "vfork", "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
      "process_mrelease", "pidfd_open", "pidfd_getfd", "pidfd_send_signal", "kcmp", "tkill", "rt_sigqueueinfo",
      "rt_tgsigqueueinfo", "setsid", "setpgid",
      // the network
      "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4",
      // identity, namespaces, mounts
      "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid",
      "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig",
      "fsmount", "fspick", "mount_setattr", "open_by_handle_at", "fanotify_init",
      // kernel interfaces with a history
      "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter",
      "io_uring_register", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
      "modify_ldt", "iopl", "ioperm", "seccomp", "reboot", "swapon", "swapoff", "syslog", "acct", "settimeofday",
      "clock_settime", "clock_adjtime", "adjtimex", "vmsplice"};
  return list;
}

const std::vector<int>& fcntl_commands_of_runner() {
  static const std::vector<int> list = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD,
                                        F_GETFL, F_SETFL,         1034 /* F_GET_SEALS */};
  return list;
}

const std::vector<int>& prctl_options_of_runner() {
  static const std::vector<int> list = {PR_SET_NAME,     PR_GET_NAME,        PR_GET_DUMPABLE,     PR_GET_SECCOMP,
                                        PR_GET_KEEPCAPS, PR_GET_TIMERSLACK,  PR_GET_NO_NEW_PRIVS, PR_CAPBSET_READ,
                                        PR_GET_TSC,      PR_GET_THP_DISABLE, 0x53564d41 /* PR_SET_VMA */};
  return list;
}

const std::vector<unsigned long>& ioctl_requests_of_runner() {
  static const std::vector<unsigned long> list = {TCGETS, FIONREAD, FIONBIO, TIOCGWINSZ};
  return list;
}

}  // namespace ww::sandbox
