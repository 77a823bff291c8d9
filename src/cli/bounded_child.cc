// SPDX-License-Identifier: Apache-2.0
#include "cli/bounded_child.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fault.h"
#include "base/fd.h"
#include "base/interrupt.h"

extern char** environ;

namespace ww::cli {
namespace {

constexpr size_t kKept = 4000;

void limit_to(__rlimit_resource resource, rlim_t value) {
  rlimit limit;
  ::getrlimit(resource, &limit);
  limit.rlim_max = std::min(limit.rlim_max, value);
  limit.rlim_cur = std::min(limit.rlim_cur, value);
  ::setrlimit(resource, &limit);
}

[[noreturn]] void become(const std::vector<char*>& argv, const std::vector<char*>& environment, int output) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // What it mounts, where it may, is seen by itself alone.
  if (::unshare(CLONE_NEWNS) == 0) ::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr);
  limit_to(RLIMIT_AS, 1u << 30);
  limit_to(RLIMIT_FSIZE, 512u << 20);
  limit_to(RLIMIT_CPU, 10);
  limit_to(RLIMIT_NOFILE, 4096);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execve(argv[0], argv.data(), environment.data());
  ::_exit(127);
}

void collect(const Fd& pipe, BoundedEnd& end) {
  char block[1 << 16];
  const ssize_t count = ::read(pipe.get(), block, sizeof block);
  if (count <= 0) return;
  end.output_bytes += static_cast<uint64_t>(count);
  end.output.append(block, std::min(static_cast<size_t>(count), kKept - std::min(kKept, end.output.size())));
}

/// True if it ended by itself.
bool wait_for(pid_t child, const Fd& pipe, nanoseconds deadline, BoundedEnd& end) {
  while (now() < deadline && !interrupted()) {
    pollfd waiting[] = {{pipe.get(), POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
    if (::poll(waiting, 2, 5) < 0 && errno != EINTR) throw_errno("waiting for a probe");
    if (waiting[0].revents & POLLIN) collect(pipe, end);
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == child && !(waiting[0].revents & POLLIN)) return true;
  }
  return false;
}

std::vector<char*> as_words(const std::vector<std::string>& texts) {
  std::vector<char*> words;
  for (const auto& text : texts) words.push_back(const_cast<char*>(text.c_str()));
  return words;
}

}  // namespace

BoundedEnd run_bounded(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                       milliseconds limit, Rest rest) {
  std::vector<char*> words = as_words(argv), variables = as_words(environment);
  words.push_back(nullptr);
  for (char** variable = environ; *variable; ++variable) variables.push_back(*variable);
  variables.push_back(nullptr);
  Pipe pipe = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) throw_errno("starting a probe");
  if (child == 0) become(words, variables, pipe.write.get());
  pipe.write.reset();
  BoundedEnd end;
  end.timed_out = !wait_for(child, pipe.read, now() + limit, end);
  if (rest == Rest::kKilled || end.timed_out) ::kill(-child, SIGKILL);  // its session's first group, bombs included
  ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  stop_if_interrupted();
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace ww::cli
