// SPDX-License-Identifier: Apache-2.0
#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/fault.h"
#include "base/fd.h"
#include "base/interrupt.h"

extern char** environ;

namespace ww {
namespace {

constexpr size_t kStreamLimit = 1 << 20;

bool drain(const Fd& fd, std::string& text) {
  char block[1 << 14];
  const ssize_t count = ::read(fd.get(), block, sizeof block);
  if (count < 0) return errno == EINTR;
  const size_t room = kStreamLimit - std::min(kStreamLimit, text.size());
  text.append(block, std::min(room, static_cast<size_t>(count)));
  return count > 0;
}

/// Reads both streams until they end; false if `deadline` or a request to stop came first.
bool collect(Pipe& out, Pipe& err, ChildResult& result, nanoseconds deadline) {
  bool open[2] = {true, true};
  while (open[0] || open[1]) {
    const nanoseconds left = deadline - now();
    if (left.count() <= 0 || interrupted()) return false;
    pollfd streams[3] = {{open[0] ? out.read.get() : -1, POLLIN, 0},
                         {open[1] ? err.read.get() : -1, POLLIN, 0},
                         {interrupt_fd(), POLLIN, 0}};
    if (::poll(streams, 3, static_cast<int>(left.count() / 1'000'000 + 1)) < 0) continue;
    if (streams[0].revents) open[0] = drain(out.read, result.output);
    if (streams[1].revents) open[1] = drain(err.read, result.errors);
  }
  return true;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, milliseconds limit) {
  WW_CHECK(!argv.empty(), "a child needs a program");
  Pipe out = make_pipe(), err = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = 0;
  const int failure = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ChildResult result;
  if (failure == ENOENT || failure == EACCES) {
    result.exit_code = 127;
    return result;
  }
  if (failure != 0) throw_errno("starting " + argv[0], failure);
  out.write.reset();
  err.write.reset();
  if (!collect(out, err, result, now() + limit)) {
    result.timed_out = true;
    ::kill(pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  stop_if_interrupted();
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace ww
