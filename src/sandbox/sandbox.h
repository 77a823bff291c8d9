// SPDX-License-Identifier: Apache-2.0
//
// Runs untrusted programs under limits and says how they ended. A program sees a root that holds only what is listed,
// no network, no other process, no capability, and runs under a system call filter; it and all its children die with
// the Process object, and with the thread that started it. Missing layers are left out and reported (isolation.h).
//
// Inside: pid 1 (so abort() shows as SIGSEGV, and signals without a handler that it sends itself are ignored), /proc of
// its own (read-only), /dev with null zero full random urandom shm, /tmp of its own, /etc/passwd and group with one
// user. It is uid 65534 if root (CAP_SETUID) started it, outside too, else the caller's own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/isolation.h"

namespace ww::sandbox {

namespace fs = std::filesystem;

enum class Access { kReadOnly, kReadWrite };

/// A file or folder (with what is mounted below it) of the host. Always nosuid and nodev.
struct Mount {
  fs::path host;
  fs::path inside = {};  ///< absolute; empty: as on the host. Without mount_ns nothing else is possible
  Access access = Access::kReadOnly;
  bool optional = false;  ///< skipped where the host has no such path; else a Fault
};

/// An empty folder in memory that programs may write to, with a limit that the kernel keeps (it counts as memory too).
/// It goes with the process; a descriptor that the program hands out keeps it.
struct Scratch {
  fs::path inside;
  uint64_t bytes = 0;  ///< > 0
  uint32_t files = 0;  ///< > 0; folders and links count
};

/// A symbolic link made inside.
struct Link {
  fs::path inside;
  std::string target;
};

/// A descriptor handed over. The host's stays open and stays the caller's.
struct HandedFd {
  int host_fd = -1;
  int inside_fd = -1;
};

/// 0 means no limit, except where said otherwise. Memory and tasks concern the whole tree where cgroup_memory and
/// cgroup_pids are present; else RLIMIT_DATA bounds each process, wait() looks every 50 ms at what the tree has mapped
/// (not at files in memory that nobody maps), and RLIMIT_NPROC bounds the user in its namespace.
struct Limits {
  uint64_t memory_bytes = 2ull << 30;  ///< with /tmp and page cache; reaching it kills
  uint32_t tasks = 128;                ///< processes and threads together
  milliseconds wall{60'000};           ///< since the start; applied by wait()
  milliseconds cpu{0};                 ///< whole tree, checked by wait() every 20 ms; RLIMIT_CPU backs it up
  uint64_t file_bytes = 1ull << 30;    ///< one file
  uint64_t scratch_bytes = 64u << 20;  ///< /tmp and /dev/shm, each; 0: they are read-only
  uint32_t scratch_files = 1u << 17;   ///< in each of them
  uint64_t output_bytes = 1u << 20;    ///< kept of each captured stream; the rest is read and dropped
  uint32_t open_files = 1024;          ///< 0: as the caller's
};

enum class Output { kCapture, kDiscard };

struct Spec {
  std::vector<std::string> argv;      ///< argv[0] is an absolute path inside
  std::vector<std::string> env = {};  ///< "NAME=value"; nothing is inherited
  fs::path work_folder = "/tmp";      ///< inside
  std::vector<Scratch> scratch = {};  ///< needs mount_ns; before `mounts`, which may lie inside
  std::vector<Mount> mounts = {};     ///< in order: a later one may lie inside an earlier one
  std::vector<Link> links = {};
  Limits limits = {};
  std::vector<int> cpus = {};  ///< affinity at the start; empty: as the caller's. Only confined code cannot change it
  std::vector<HandedFd> descriptors = {};  ///< beyond 0, 1, 2, or instead of them; nothing else is open inside
  /// For a program that calls confine_this_process: the descriptor inside over which it lets us learn the name of a
  /// denied system call (Confinement::denial_fd). start() then leaves the filtering to the program. -1: none.
  int denial_fd = -1;
  Output output = Output::kCapture;  ///< stdout and stderr, where `descriptors` does not name 1 or 2
};

/// Appends what programs of the distribution need: /usr, the /bin /lib /lib64 /sbin links or folders, the loader's
/// cache, alternatives, and /sys/devices/system/cpu. Read-only.
void add_system(Spec& spec);

/// The uid and gid that programs have inside, as the host sees it.
uid_t inside_uid();

/// Makes a host folder and all it holds writable for programs inside, for kReadWrite mounts: chown if root, else
/// nothing. Does not follow links. Throws Fault. Folders mounted read-only need only be readable by inside_uid().
void lend(const fs::path& folder);

enum class How {
  kExited,
  kSignalled,  ///< by a signal that none of the limits below explains
  kWallLimit,
  kCpuLimit,
  kOutOfMemory,    ///< the kernel killed something in it at the memory limit, and it did not exit 0
  kDeniedSyscall,  ///< SIGSYS, or SIGKILL where Spec::denial_fd named the call
  kKilled,         ///< Process::kill()
};

std::string_view name(How how);

struct Ended {
  How how = How::kExited;
  int exit_code = 0;  ///< 128 + signal where a signal ended it
  int signal = 0;
  std::string denied_syscall;   ///< name where known, with kDeniedSyscall
  uint64_t peak_bytes = 0;      ///< whole tree with cgroup_memory, else the largest process
  bool task_limit_hit = false;  ///< a fork or thread was refused at Limits::tasks
  nanoseconds cpu{};
  nanoseconds wall{};
  std::string output;  ///< stdout, where captured
  std::string errors;  ///< stderr, where captured
  bool output_cut = false;
  bool errors_cut = false;

  bool ok() const { return how == How::kExited && exit_code == 0; }
};

/// A started program: a direct child of the caller (waitid with WSTOPPED verifies a SIGSTOP; use WNOWAIT with WEXITED).
/// Not thread-safe. Destroying it kills the tree, waits for it and removes its cgroups.
class Process {
 public:
  Process(Process&&) noexcept;
  Process& operator=(Process&&) noexcept;
  ~Process();

  pid_t pid() const;  ///< in our pid namespace
  int pidfd() const;  ///< readable once it ended; stays owned by the Process
  /// Layers that this process has; those in probe() that concern start().
  const Isolation& isolation() const;

  /// Processor time used so far: the tree's with cgroup_cpu, else the first process's.
  nanoseconds cpu_used() const;
  uint64_t memory_used() const;  ///< bytes; 0 without cgroup_memory

  /// SIGKILL for the whole tree. Idempotent.
  void kill();

  /// Throws Fault{kInterrupted} on a request to stop (base/interrupt.h): destroy the Process then.
  /// Reads captured output, applies wall and cpu limits, until it ended or `limit` passed (then nullopt). A program
  /// that fills its output pipes blocks while nobody waits. After the end every call returns the same.
  std::optional<Ended> wait(nanoseconds limit);
  /// Until it ended. Requires: Limits::wall, or an end that comes by itself.
  Ended wait();

 private:
  friend Process start(const Spec& spec);
  struct State;
  explicit Process(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Returns once the program has been exec'ed. The calling thread must outlive the process (it dies with the thread).
/// Throws Fault: a path that is missing or not readable by inside_uid(), a program that cannot be executed, a machine
/// that refuses a layer that probe() found.
Process start(const Spec& spec);

/// start, with `input` as stdin (at once, no pipe), and wait.
Ended run(const Spec& spec, std::string_view input = {});

}  // namespace ww::sandbox
