// SPDX-License-Identifier: Apache-2.0
//
// What code in a confined native runner tries; and what honest code there needs ("honest": succeeding is right).
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <thread>

#include "attempts.h"
#include "sandbox/confine.h"

extern char** environ;

namespace ww::sandbox::attempts {
namespace {

using Arguments = std::vector<std::string>;

bool spawn_program() {
  char name[] = "/bin/true";
  char* argv[] = {name, nullptr};
  pid_t child;
  return ::posix_spawn(&child, name, nullptr, nullptr, argv, environ) == 0;
}

bool clone_process() { return ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr) >= 0; }

/// Each of these ends the process where it is confined.
const std::map<std::string, std::function<bool()>>& fatal_acts() {
  static const std::map<std::string, std::function<bool()>> acts = {
      {"fork", [] { return ::fork() >= 0; }},
      {"vfork", [] { return ::syscall(SYS_vfork) >= 0; }},
      {"clone", clone_process},
      {"spawn", spawn_program},
      {"exec", [] { return ::execl("/bin/true", "true", nullptr) == 0; }},
      {"socket", [] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }},
      {"ptrace", [] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0; }},
      {"process_vm_readv", [] { return ::syscall(SYS_process_vm_readv, 1, nullptr, 0, nullptr, 0, 0) >= 0; }},
      {"process_vm_writev", [] { return ::syscall(SYS_process_vm_writev, 1, nullptr, 0, nullptr, 0, 0) >= 0; }},
      {"kill", [] { return ::kill(-1, SIGSTOP) == 0; }},
      {"pidfd_open", [] { return ::syscall(SYS_pidfd_open, 1, 0) >= 0; }},
      {"unshare", [] { return ::unshare(CLONE_NEWUSER) == 0; }},
      {"mount", [] { return ::syscall(SYS_mount, "x", "/", "tmpfs", 0, nullptr) == 0; }},
      {"setuid", [] { return ::syscall(SYS_setuid, 0) == 0; }},
      {"io_uring_setup", [] { return ::syscall(SYS_io_uring_setup, 1, nullptr) >= 0; }},
      {"bpf", [] { return ::syscall(SYS_bpf, 0, nullptr, 0) >= 0; }},
      {"perf_event_open", [] { return ::syscall(SYS_perf_event_open, nullptr, 0, 0, 0, 0) >= 0; }},
      {"userfaultfd", [] { return ::syscall(SYS_userfaultfd, 0) >= 0; }},
      {"keyctl", [] { return ::syscall(SYS_keyctl, 0, 0, 0, 0, 0) >= 0; }},
      {"seccomp", [] { return ::syscall(SYS_seccomp, 0, 0, nullptr) >= 0; }}};
  return acts;
}

bool raise_limit() {
  rlimit limit;
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_cur / 2;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool arm_timers() {
  itimerval soon = {{0, 0}, {1, 0}};
  timer_t timer;
  return ::setitimer(ITIMER_REAL, &soon, nullptr) == 0 || ::timer_create(CLOCK_MONOTONIC, nullptr, &timer) == 0;
}

bool change_affinity() {
  cpu_set_t cpus;
  ::sched_getaffinity(0, sizeof cpus, &cpus);
  return ::sched_setaffinity(0, sizeof cpus, &cpus) == 0;
}

/// With the listener of its own filter a process could permit itself everything.
bool keep_descriptor() {
  for (int fd = 3; fd < 1000; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) return true;
  }
  return false;
}

/// Each of these fails, and the process goes on.
const std::map<std::string, std::function<bool()>>& refused_acts() {
  static const std::map<std::string, std::function<bool()>> acts = {
      {"write_file", [] { return ::open("/tmp/x", O_WRONLY | O_CREAT, 0644) >= 0; }},
      {"append_file", [] { return ::open("/dev/null", O_RDWR) >= 0; }},
      {"truncate", [] { return ::open("/dev/null", O_RDONLY | O_TRUNC) >= 0; }},
      {"make_folder", [] { return ::syscall(SYS_mkdir, "/tmp/folder", 0755) == 0; }},
      {"read_unlisted", [] { return ::open("/etc/passwd", O_RDONLY) >= 0; }},
      {"list_root", [] { return ::open("/", O_RDONLY | O_DIRECTORY) >= 0; }},
      {"read_memory_file", [] { return ::open("/proc/self/mem", O_RDONLY) >= 0; }},
      {"memfd", [] { return ::memfd_create("x", 0) >= 0; }},
      {"affinity", change_affinity},
      {"priority", [] { return ::setpriority(PRIO_PROCESS, 0, 5) == 0; }},
      {"timers", arm_timers},
      {"limit", raise_limit},
      {"dumpable", [] { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; }},
      {"parent_death", [] { return ::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) == 0; }},
      {"shared_memory", [] { return ::syscall(SYS_shmget, 0, 4096, 01600) >= 0; }},
      {"stop_itself", [] { return ::raise(SIGSTOP) == 0; }},
      {"keep_descriptor", keep_descriptor},
      {"owner_of_signals", [] { return ::fcntl(0, F_SETOWN, ::getpid()) == 0; }},
      {"async_input", [] { return ::fcntl(0, F_SETSIG, SIGIO) == 0; }}};
  return acts;
}

bool run_generated_code() {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret
  memcpy(page, code, sizeof code);
  if (::mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0) return false;
  return reinterpret_cast<int (*)()>(page)() == 42;
}

bool use_threads() {
  double sums[4] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&sums, i] {
      for (int k = 1; k < 10000; ++k) sums[i] += std::sqrt(k);
    });
  }
  for (auto& thread : threads) thread.join();
  double parallel = 0;
#pragma omp parallel for reduction(+ : parallel)
  for (int k = 1; k < 10000; ++k) parallel += std::sqrt(k);
  return std::abs(parallel - sums[0]) < 1e-3 && sums[0] == sums[3];
}

bool use_library() {
  for (const char* name : {"libdnnl.so.2", "libcrypto.so.3", "libm.so.6"}) {
    if (::dlopen(name, RTLD_NOW) != nullptr) return true;
  }
  return false;
}

/// What honest solutions and the libraries under them do.
const std::map<std::string, std::function<bool()>>& honest_acts() {
  static const std::map<std::string, std::function<bool()>> acts = {
      {"memory", [] { return std::vector<double>(50'000'000, 1.0).back() == 1.0; }},
      {"threads", use_threads},
      {"library", use_library},
      {"generated_code", run_generated_code},
      {"output", [] { return static_cast<bool>(std::cout << "words\n"
                                                         << std::flush); }},
      {"exceptions",
       [] {
         try {
           throw std::runtime_error("x");
         } catch (const std::exception&) {
           return true;
         }
       }},
      {"sleep", [] { return ::usleep(1000) == 0 && std::thread::hardware_concurrency() > 0; }},
      {"signal", [] { return ::signal(SIGUSR1, [](int) {}) != SIG_ERR && ::raise(SIGUSR1) == 0; }},
      {"names", [] { return ::prctl(PR_SET_NAME, "worker", 0, 0, 0) == 0; }}};
  return acts;
}

void confine(int denial_fd = -1) {
  confine_this_process(
      {.readable = {"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/sys/devices/system/cpu"}, .denial_fd = denial_fd});
}

constexpr int kDenialFd = 9;

/// Arguments: "confined", "named" (its denials are) or "free", then the act.
bool act(const std::map<std::string, std::function<bool()>>& acts, const Arguments& arguments) {
  if (arguments[0] == "confined") confine();
  if (arguments[0] == "named") confine(kDenialFd);
  return acts.at(arguments[1])();
}

bool fatal(const Arguments& arguments) { return act(fatal_acts(), arguments); }
bool refused(const Arguments& arguments) { return act(refused_acts(), arguments); }
bool honest(const Arguments& arguments) { return act(honest_acts(), arguments); }

bool list_names(const Arguments& arguments) {
  const auto& acts = arguments[0] == "fatal"     ? fatal_acts()
                     : arguments[0] == "refused" ? refused_acts()
                                                 : honest_acts();
  for (const auto& entry : acts) std::puts(entry.first.c_str());
  return true;
}

/// From a thread that was there before the filter.
bool fatal_on_old_thread(const Arguments&) {
  int gate[2];
  if (::pipe(gate) != 0) return false;
  std::thread thread([&gate] {
    char go;
    if (::read(gate[0], &go, 1) == 1) ::socket(AF_UNIX, SOCK_STREAM, 0);
  });
  confine();
  if (::write(gate[1], "g", 1) != 1) return false;
  thread.join();
  return true;
}

bool crash(const Arguments& arguments) {
  confine();
  if (arguments[0] == "abort") ::abort();
  volatile int* nowhere = reinterpret_cast<int*>(8);
  if (arguments[0] == "segv") *nowhere = 1;
  if (arguments[0] == "exit") ::exit(7);
  return true;
}

}  // namespace

const std::vector<Attempt>& confined_attempts() {
  static const std::vector<Attempt> list = {{"fatal", fatal},
                                            {"refused", refused},
                                            {"honest", honest},
                                            {"list_names", list_names},
                                            {"fatal_on_old_thread", fatal_on_old_thread},
                                            {"crash", crash}};
  return list;
}

}  // namespace ww::sandbox::attempts
