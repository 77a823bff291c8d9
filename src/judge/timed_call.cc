// SPDX-License-Identifier: Apache-2.0
#include "judge/timed_call.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/fault.h"
#include "base/fd.h"
#include "base/interrupt.h"
#include "judge/affinity.h"
#include "judge/priority.h"

namespace ww::judge {
namespace {

constexpr int kMostRestages = 8;

// A stop takes microseconds, under load a scheduler's slice or two. What has not stopped after this long waits for
// something in the kernel, and ends at SIGKILL.
constexpr nanoseconds kStopLimit = seconds(5);
constexpr nanoseconds kWatchdogStep = milliseconds(500);
constexpr nanoseconds kLookStep{20'000};

enum class Life { kRunning, kStopped, kGone };

/// Kills the process whose stop is being waited for when that takes too long: waitid knows no limit. Waiting in the
/// kernel is worth a thread: with both cores loaded, polling with sched_yield took 0.5 ms, and its tail 10 ms.
class Watchdog {
 public:
  static Watchdog& instance() {
    static Watchdog watchdog;
    return watchdog;
  }
  /// Requires: `pid` is a child of ours that is not reaped before disarm(). One at a time.
  void arm(pid_t pid) {
    deadline_.store((now() + kStopLimit).count());
    pid_.store(pid);
  }
  void disarm() { pid_.store(0); }

 private:
  Watchdog() : thread_([this](const std::stop_token& token) { watch(token); }) {}

  void watch(const std::stop_token& token) {
    while (!token.stop_requested()) {
      std::this_thread::sleep_for(kWatchdogStep);
      const pid_t pid = pid_.load();
      if (pid != 0 && now().count() > deadline_.load()) ::kill(pid, SIGKILL);
    }
  }

  std::atomic<pid_t> pid_{0};
  std::atomic<int64_t> deadline_{0};
  std::jthread thread_;
};

/// Of our own child, as the kernel tells a parent: stopped means that every thread is. Consumes the report of a stop,
/// never that of an end. `options`: WNOHANG, or 0 to wait for either.
Life life_of_child(pid_t pid, int options) {
  siginfo_t info{};
  int result;
  do {
    result = ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOWAIT | options);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return Life::kGone;
  if (info.si_pid == 0) return Life::kRunning;
  if (info.si_code != CLD_STOPPED) return Life::kGone;
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG);
  return Life::kStopped;
}

/// State letter and thread count of a /proc/.../stat file; 0 where it is gone.
char read_state(const char* path, long& threads) {
  char text[512];
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t count = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (count <= 0) return 0;
  text[count] = '\0';
  // The name, in parentheses, is the process's to choose.
  const char* name_end = std::strrchr(text, ')');
  if (name_end == nullptr) return 0;
  char state = 0;
  if (std::sscanf(name_end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld", &state,
                  &threads) != 2) {
    return 0;
  }
  return state;
}

/// Of any process, from /proc: stopped where every thread is, and no thread was missed.
Life life_from_proc(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  long threads = 0;
  const char leader = read_state(path, threads);
  if (leader == 0 || leader == 'X') return Life::kGone;
  if (leader == 'Z' && threads <= 1) return Life::kGone;
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return Life::kGone;
  long seen = 0;
  bool all_stopped = true;
  while (const dirent* entry = ::readdir(folder)) {
    const long task = std::strtol(entry->d_name, nullptr, 10);
    if (task <= 0 || !all_stopped) continue;
    char stat[96];
    std::snprintf(stat, sizeof stat, "/proc/%d/task/%ld/stat", pid, task);
    long ignored = 0;
    const char state = read_state(stat, ignored);
    seen += state != 0;
    all_stopped = state == 'T' || state == 't' || state == 'Z' || state == 'X' || state == 0;
  }
  ::closedir(folder);
  return all_stopped && seen >= threads ? Life::kStopped : Life::kRunning;
}

/// Sends SIGSTOP to a process that was continued since its last stop, and returns once it is stopped or gone.
Life stop_running(const Endpoint& endpoint) {
  if (::kill(endpoint.pid, SIGSTOP) != 0) return Life::kGone;
  if (endpoint.our_child) {
    Watchdog::instance().arm(endpoint.pid);
    const Life life = life_of_child(endpoint.pid, 0);
    Watchdog::instance().disarm();
    return life;
  }
  const nanoseconds deadline = now() + kStopLimit;
  for (;;) {
    const Life life = life_from_proc(endpoint.pid);
    if (life != Life::kRunning) return life;
    if (now() > deadline) {
      ::kill(endpoint.pid, SIGKILL);
      return Life::kGone;
    }
    std::this_thread::sleep_for(kLookStep);
  }
}

/// Ready events among `events` now.
short ready(int fd, short events) {
  pollfd item{fd, events, 0};
  return ::poll(&item, 1, 0) > 0 ? item.revents : static_cast<short>(0);
}

/// Reads and counts what nobody asked for. Requires: the process is stopped, so that this ends.
uint64_t drain_records(int done_fd) {
  char block[64 * sizeof(DoneRecord)];
  uint64_t bytes = 0;
  while (ready(done_fd, POLLIN) & POLLIN) {
    const ssize_t count = ::read(done_fd, block, sizeof block);
    if (count <= 0) break;
    bytes += static_cast<uint64_t>(count);
  }
  return (bytes + sizeof(DoneRecord) - 1) / sizeof(DoneRecord);
}

/// Takes out what the other side, which shares the eventfd, has written to it. Requires: the process is stopped, and
/// took the last token that was ours. False: there was nothing.
bool take_forged_token(int go_fd) {
  uint64_t token = 0;
  return (ready(go_fd, POLLIN) & POLLIN) && ::read(go_fd, &token, sizeof token) == sizeof token;
}

bool put_token(int go_fd) {
  const uint64_t token = 1;
  return (ready(go_fd, POLLOUT) & POLLOUT) && ::write(go_fd, &token, sizeof token) == sizeof token;
}

nanoseconds cpu_used(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
  return nanoseconds(time.tv_sec * 1'000'000'000LL + time.tv_nsec);
}

enum class Awaited { kReadable, kClosed, kEnded, kTimeout };

/// Until something can be read from `done_fd`, it is closed, the process ended, or the deadline passed.
Awaited await(int done_fd, int pidfd, nanoseconds deadline) {
  for (;;) {
    const nanoseconds left = std::max(deadline - now(), nanoseconds(0));
    const timespec limit{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    pollfd items[3] = {{done_fd, POLLIN, 0}, {pidfd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
    const int count = ::ppoll(items, 3, &limit, nullptr);
    if (count < 0 && errno != EINTR) throw_errno("waiting for a done record");
    if (items[0].revents & POLLIN) return Awaited::kReadable;
    if (items[1].revents) return Awaited::kEnded;
    if (items[0].revents) return Awaited::kClosed;
    stop_if_interrupted();
    if (left.count() == 0) return Awaited::kTimeout;
  }
}

/// Stages until the go can follow at once; leaves the token in place and says when staging ended.
nanoseconds stage_until_prompt(const Endpoint& endpoint, const std::function<void()>& stage, CallTimes& call) {
  for (int attempt = 0;; attempt++) {
    const nanoseconds before = cpu_used(endpoint.pid);
    if (stage) stage();
    const nanoseconds staged = now();
    call.cpu_while_stopped += cpu_used(endpoint.pid) - before;
    if (now() - staged < kLateGo || attempt == kMostRestages) return staged;
  }
}

/// Reads the one record that is due. The pipe has at least a byte.
CallEnd take_record(int done_fd, uint64_t sequence, CallTimes& call) {
  DoneRecord record{};
  const ssize_t count = ::read(done_fd, &record, sizeof record);
  if (count != sizeof record || record.sequence != sequence || record.zero != 0) return CallEnd::kUnexpected;
  call.inner = nanoseconds(record.inner_ns);
  call.status = record.status;
  return CallEnd::kDone;
}

}  // namespace

bool stop(const Endpoint& endpoint) {
  // A stop is reported once only: for a process that lies stopped already waitid would wait for ever.
  if (life_from_proc(endpoint.pid) == Life::kStopped) return true;
  return stop_running(endpoint) == Life::kStopped;
}

void resume(const Endpoint& endpoint) { ::kill(endpoint.pid, SIGCONT); }

CallTimes timed_call(const Endpoint& endpoint, uint64_t sequence, const std::function<void()>& stage,
                     nanoseconds limit) {
  CallTimes call;
  call.end = CallEnd::kDied;
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, endpoint.pid, 0)));
  if (!pidfd.valid()) {
    if (errno == ESRCH) return call;
    throw_errno("watching a process");
  }
  const Foremost foremost;
  if (!stop(endpoint)) return call;
  spread_threads(endpoint.pid);
  call.stray_records = drain_records(endpoint.done_fd);
  call.stray_records += take_forged_token(endpoint.go_fd);
  if (!put_token(endpoint.go_fd)) {
    call.end = CallEnd::kUnexpected;
    return call;
  }
  const nanoseconds staged = stage_until_prompt(endpoint, stage, call);
  const nanoseconds start = now();
  ::kill(endpoint.pid, SIGCONT);
  const Awaited awaited = await(endpoint.done_fd, pidfd.get(), start + limit);
  const nanoseconds worded = now();
  const bool stopped = stop_running(endpoint) == Life::kStopped;
  call.outer = (endpoint.closed_by_word ? worded : now()) - start;
  call.stage_to_go = start - staged;
  switch (awaited) {
    case Awaited::kReadable:
      call.end = take_record(endpoint.done_fd, sequence, call);
      break;
    case Awaited::kClosed:
      call.end = CallEnd::kUnexpected;
      break;
    case Awaited::kEnded:
      call.end = CallEnd::kDied;
      break;
    case Awaited::kTimeout:
      call.end = CallEnd::kTimeout;
      break;
  }
  if (!stopped && call.end != CallEnd::kTimeout) call.end = CallEnd::kDied;
  if (stopped && call.end == CallEnd::kDone && drain_records(endpoint.done_fd) > 0) call.end = CallEnd::kUnexpected;
  return call;
}

}  // namespace ww::judge
