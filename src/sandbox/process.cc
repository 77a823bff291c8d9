// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/fault.h"
#include "base/interrupt.h"
#include "sandbox/seccomp.h"

namespace ww::sandbox {
namespace {

constexpr nanoseconds kForever = std::chrono::hours(24 * 365);
constexpr nanoseconds kCpuTick = milliseconds(20);
constexpr nanoseconds kMemoryTick = milliseconds(50);

/// The kernel's processor-time clock of another process; see clock_getcpuclockid(3).
nanoseconds process_cpu(pid_t pid) {
  clockid_t clock;
  timespec used;
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return nanoseconds(0);
  return seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

/// Bytes that a process and its descendants have mapped, what they share counted once. Whoever loses its parent becomes
/// a child of the first process, so that with a pid namespace these are all. A tree that changes meanwhile is seen in
/// part.
uint64_t tree_memory(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  uint64_t bytes = 0;
  std::string line;
  for (std::ifstream rollup(folder + "/smaps_rollup"); std::getline(rollup, line);) {
    if (line.starts_with("Pss:")) bytes = std::strtoull(line.c_str() + 4, nullptr, 10) << 10;
  }
  pid_t child;
  for (std::ifstream children(folder + "/task/" + std::to_string(pid) + "/children"); children >> child;) {
    bytes += tree_memory(child);
  }
  return bytes;
}

nanoseconds rusage_cpu(const rusage& usage) {
  return seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

void wait_readable(int fd) {
  pollfd ended = {fd, POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::string_view name(How how) {
  switch (how) {
    case How::kExited:
      return "exited";
    case How::kSignalled:
      return "signalled";
    case How::kWallLimit:
      return "wall limit";
    case How::kCpuLimit:
      return "cpu limit";
    case How::kOutOfMemory:
      return "out of memory";
    case How::kDeniedSyscall:
      return "denied system call";
    case How::kKilled:
      return "killed";
  }
  return "";
}

Process::Process(std::unique_ptr<State> state) : state_(std::move(state)) {}
Process::Process(Process&&) noexcept = default;

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    Process old(std::move(*this));  // its destructor ends what ran here
    state_ = std::move(other.state_);
  }
  return *this;
}

Process::~Process() {
  if (state_ && !state_->ended) state_->abandon();
}

pid_t Process::pid() const { return state_->pid; }
int Process::pidfd() const { return state_->pidfd.get(); }
const Isolation& Process::isolation() const { return *state_->isolation; }

nanoseconds Process::cpu_used() const { return state_->ended ? state_->ended->cpu : state_->cpu_used(); }

uint64_t Process::memory_used() const {
  return state_->cgroup && state_->cgroup->accounts_memory() ? state_->cgroup->memory_used() : 0;
}

void Process::kill() {
  if (!state_->ended) state_->kill_tree(How::kKilled);
}

Ended Process::wait() {
  while (true) {
    if (auto ended = wait(kForever)) return *ended;
  }
}

std::optional<Ended> Process::wait(nanoseconds limit) {
  State& state = *state_;
  const nanoseconds deadline = now() + std::min(limit, kForever);
  while (!state.ended) {
    stop_if_interrupted();
    const nanoseconds next = std::min(deadline, state.apply_limits());
    const int64_t left_ms = (next - now()).count() / 1'000'000 + 1;
    pollfd events[] = {{state.pidfd.get(), POLLIN, 0},
                       {state.out.reader(), POLLIN, 0},
                       {state.err.reader(), POLLIN, 0},
                       {interrupt_fd(), POLLIN, 0}};
    const int timeout_ms = limit.count() <= 0 ? 0 : static_cast<int>(std::clamp<int64_t>(left_ms, 0, 1'000'000));
    if (::poll(events, 4, timeout_ms) < 0 && errno != EINTR) throw_errno("waiting for a sandboxed program");
    if (events[1].revents) state.out.drain();
    if (events[2].revents) state.err.drain();
    if (events[0].revents) {
      state.finish();
    } else if (now() >= deadline) {
      return std::nullopt;
    }
  }
  return state.ended;
}

nanoseconds Process::State::cpu_used() const {
  return cgroup && cgroup->accounts_cpu() ? cgroup->cpu_used() : process_cpu(pid);
}

nanoseconds Process::State::apply_limits() {
  const nanoseconds time = now();
  nanoseconds next = time + kForever;
  if (limits.wall.count()) {
    if (time - started >= limits.wall) {
      kill_tree(How::kWallLimit);
    } else {
      next = started + limits.wall;
    }
  }
  if (limits.cpu.count()) {
    if (cpu_used() >= limits.cpu) kill_tree(How::kCpuLimit);
    next = std::min(next, time + kCpuTick);
  }
  if (limits.memory_bytes && !(cgroup && cgroup->accounts_memory())) next = std::min(next, apply_memory_limit(time));
  return next;
}

nanoseconds Process::State::apply_memory_limit(nanoseconds time) {
  if (time - memory_looked_at >= kMemoryTick) {
    memory_looked_at = time;
    if (tree_memory(pid) > limits.memory_bytes) kill_tree(How::kOutOfMemory);
  }
  return memory_looked_at + kMemoryTick;
}

void Process::State::kill_tree(How reason) {
  if (!killed_for) killed_for = reason;
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  if (own_pid_ns) return;  // its first process takes the others along
  ::kill(-pid, SIGKILL);
  if (cgroup) cgroup->kill_members();
}

void Process::State::abandon() noexcept {
  kill_tree(How::kKilled);
  wait_readable(pidfd.get());
  siginfo_t ignored;
  while (::waitid(P_PID, static_cast<id_t>(pid), &ignored, WEXITED) < 0 && errno == EINTR) {
  }
  if (denials) denials->finish();
  cgroup.reset();
}

void Process::State::finish() {
  Ended result;
  result.wall = now() - started;
  siginfo_t info = {};
  rusage usage = {};
  while (::syscall(SYS_waitid, P_PID, pid, &info, WEXITED, &usage) != 0) {
    if (errno != EINTR) throw_errno("collecting a sandboxed program");
  }
  if (!own_pid_ns) kill_tree(killed_for.value_or(How::kKilled));
  out.drain_rest();
  err.drain_rest();
  result.cpu = cgroup && cgroup->accounts_cpu() ? cgroup->cpu_used() : rusage_cpu(usage);
  result.peak_bytes = cgroup && cgroup->accounts_memory() ? cgroup->memory_peak() : 0;
  if (result.peak_bytes == 0) result.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  result.task_limit_hit = cgroup && cgroup->task_refusals() > 0;
  result.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
  result.exit_code = result.signal ? 128 + result.signal : info.si_status;
  if (denials) denials->finish();
  if (call_was_denied()) result.denied_syscall = syscall_name(denials->denied());
  result.how = explain(result, cgroup ? cgroup->memory_kills() : 0);
  result.output = out.take();
  result.errors = err.take();
  result.output_cut = out.cut();
  result.errors_cut = err.cut();
  ended = std::move(result);
  cgroup.reset();
}

How Process::State::explain(const Ended& result, uint64_t memory_kills) const {
  if (call_was_denied()) return How::kDeniedSyscall;
  if (result.signal == SIGKILL && killed_for) return *killed_for;
  if (memory_kills > 0 && result.exit_code != 0) return How::kOutOfMemory;
  if (result.signal == SIGSYS) return How::kDeniedSyscall;
  const bool cpu_spent = limits.cpu.count() && result.cpu >= limits.cpu;
  if (cpu_spent && (result.signal == SIGKILL || result.signal == SIGXCPU)) return How::kCpuLimit;
  return result.signal ? How::kSignalled : How::kExited;
}

}  // namespace ww::sandbox
