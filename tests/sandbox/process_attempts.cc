// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "attempts.h"

namespace ww::sandbox::attempts {
namespace {

using Arguments = std::vector<std::string>;

pid_t as_pid(const Arguments& arguments) { return static_cast<pid_t>(std::atoi(arguments[0].c_str())); }

/// Not an attempt: a process for the others to attack, until its stdin closes.
bool victim(const Arguments&) {
  ::alarm(60);
  ::pause();
  return true;
}

/// Whatever its number is inside: more than ourselves can be seen, or that pid can be signalled.
bool see_processes(const Arguments& arguments) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/stat", as_pid(arguments));
  return ::access(path, F_OK) == 0 || ::kill(as_pid(arguments), 0) == 0;
}

bool kill_process(const Arguments& arguments) { return ::kill(as_pid(arguments), SIGKILL) == 0; }

bool kill_everything(const Arguments&) {
  // Succeeds for the caller alone inside; whether anybody outside died is for the test to see.
  ::kill(-1, SIGKILL);
  return false;
}

bool trace_process(const Arguments& arguments) {
  return ::ptrace(PTRACE_SEIZE, as_pid(arguments), nullptr, nullptr) == 0;
}

bool trace_own_child(const Arguments&) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const bool traced = ::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0;
  ::kill(child, SIGKILL);
  return traced;
}

bool read_process_memory(const Arguments& arguments) {
  char byte;
  iovec local = {&byte, 1}, remote = {reinterpret_cast<void*>(&victim), 1};
  return ::process_vm_readv(as_pid(arguments), &local, 1, &remote, 1, 0) == 1 || errno == EFAULT;
}

bool has_parent(const Arguments&) { return ::getppid() != 0; }

bool connect_tcp(const Arguments& arguments) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(arguments[0].c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

bool open_sockets(const Arguments&) {
  for (const int family : {AF_INET, AF_INET6, AF_PACKET, AF_NETLINK, AF_VSOCK, AF_ALG}) {
    if (::socket(family, SOCK_DGRAM, 0) >= 0 || ::socket(family, SOCK_RAW, 0) >= 0) return true;
  }
  return false;
}

bool connect_abstract(const Arguments& arguments) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, arguments[0].data(), arguments[0].size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + arguments[0].size());
  return ::connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0;
}

bool become_root(const Arguments&) {
  return ::setuid(0) == 0 || ::setresuid(0, 0, 0) == 0 || ::setgid(0) == 0 || ::setgroups(0, nullptr) == 0;
}

bool is_root(const Arguments&) { return ::geteuid() == 0; }

bool make_namespaces(const Arguments&) {
  const int flags[] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS};
  for (const int flag : flags) {
    if (::unshare(flag) == 0) return true;
    const long child = ::syscall(SYS_clone, flag | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (child == 0) ::_exit(0);
    if (child > 0) return true;
  }
  return false;
}

/// With arguments that the kernel would refuse in another way.
bool call_kernel_interfaces(const Arguments&) {
  const long numbers[] = {
      SYS_io_uring_setup, SYS_bpf,         SYS_perf_event_open, SYS_userfaultfd,       SYS_keyctl, SYS_add_key,
      SYS_kexec_load,     SYS_init_module, SYS_finit_module,    SYS_open_tree,         SYS_fsopen, SYS_pivot_root,
      SYS_setns,          SYS_kcmp,        SYS_pidfd_getfd,     SYS_open_by_handle_at, SYS_clone3, SYS_modify_ldt,
      SYS_iopl,           SYS_move_pages,  SYS_syslog,          SYS_clock_settime};
  for (const long number : numbers) {
    if (::syscall(number, 0, nullptr, 0, 0, 0, 0) >= 0 || (errno != EPERM && errno != ENOSYS)) {
      fprintf(stderr, "system call %ld was not denied\n", number);
      return true;
    }
  }
  return false;
}

/// The 32-bit and the x32 ABI number their calls differently.
bool call_through_other_abi(const Arguments&) {
  long result;
  asm volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid */) : "memory");
  if (result > 0) return true;
  return ::syscall(0x40000000 + 39) > 0;
}

/// Returns only if nobody ends us with our parent.
bool outlive_parent(const Arguments&) {
  ::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
  ::syscall(SYS_prctl, 0x7'0000'0000 + PR_SET_PDEATHSIG, 0, 0, 0, 0);  // the same to the kernel
  for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_IGN);
  if (::fork() == 0) ::setsid();
  while (true) ::sleep(1);
}

/// Leaves a process behind, twice removed, that appends to a file.
bool leave_daemon(const Arguments& arguments) {
  if (::fork() != 0) {
    ::usleep(50'000);
    return true;
  }
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_IGN);
  for (int standard = 0; standard < 3; ++standard) ::close(standard);
  const int fd = ::open(arguments[0].c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  for (int i = 0; i < 400; ++i) {
    if (::write(fd, "x", 1) != 1) break;
    ::usleep(5'000);
  }
  ::_exit(0);
}

}  // namespace

const std::vector<Attempt>& process_attempts() {
  static const std::vector<Attempt> list = {{"victim", victim},
                                            {"see_processes", see_processes},
                                            {"kill_process", kill_process},
                                            {"kill_everything", kill_everything},
                                            {"trace_process", trace_process},
                                            {"trace_own_child", trace_own_child},
                                            {"read_process_memory", read_process_memory},
                                            {"has_parent", has_parent},
                                            {"connect_tcp", connect_tcp},
                                            {"open_sockets", open_sockets},
                                            {"connect_abstract", connect_abstract},
                                            {"become_root", become_root},
                                            {"is_root", is_root},
                                            {"make_namespaces", make_namespaces},
                                            {"call_kernel_interfaces", call_kernel_interfaces},
                                            {"call_through_other_abi", call_through_other_abi},
                                            {"outlive_parent", outlive_parent},
                                            {"leave_daemon", leave_daemon}};
  return list;
}

}  // namespace ww::sandbox::attempts
