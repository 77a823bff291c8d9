// SPDX-License-Identifier: Apache-2.0
#include "agent/shell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "agent/bounded_text.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr int kCommands = 3, kStatus = 4;  // descriptors of the driver
constexpr char kInside[] = "/workspace";
constexpr uint64_t kMemoryBytes = 4ull << 30;
constexpr uint64_t kScratchBytes = 512u << 20;
constexpr uint32_t kTasks = 256;
constexpr nanoseconds kPauseLimit = seconds(2);

/// Reads commands that end with NUL, runs each in this very shell, answers each with its status and NUL. The commands
/// do not hold the driver's descriptors.
constexpr char kDriver[] =
    R"(while IFS= read -r -d "" -u 3 ww_command; do eval "$ww_command" </dev/null 3<&- 4>&-; printf "%d\0" "$?" >&4; done)";

std::pair<Fd, Fd> socket_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) throw_errno("socketpair");
  return {Fd(fds[0]), Fd(fds[1])};
}

/// What lies there, without waiting. False once the other side is gone.
bool drain(int fd, BoundedText& text) {
  std::array<char, 64 << 10> block;
  // A program that writes without end must not keep us here.
  for (int i = 0; i < 64; i++) {
    const ssize_t count = ::read(fd, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    text.add({block.data(), static_cast<size_t>(count)});
  }
  return true;
}

std::string valid_utf8(std::string text) {
  if (is_utf8(text)) return text;
  return parse_own_json(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

struct Shell::State {
  sandbox::Process process;
  Fd commands;  ///< both ways: commands in, statuses out
  Fd output;

  /// False where the shell is gone.
  bool send(const std::string& command) const {
    const std::string line = command + '\0';
    for (size_t done = 0; done < line.size();) {
      const ssize_t count = ::send(commands.get(), line.data() + done, line.size() - done, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      done += static_cast<size_t>(count);
    }
    return true;
  }

  /// The status of the command that was sent, once it is there. False where the shell is gone.
  bool take_status(std::string& status) const {
    char byte = 0;
    for (;;) {
      const ssize_t count = ::recv(commands.get(), &byte, 1, MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno == EAGAIN;
      if (count == 0 || status.size() > 8) return false;
      status += byte;
      if (byte == '\0') return true;
    }
  }

  CommandEnd::How wait(nanoseconds limit, BoundedText& text, std::string& status) const {
    const nanoseconds deadline = now() + limit;
    std::array<pollfd, 4> fds = {{{.fd = output.get(), .events = POLLIN, .revents = 0},
                                  {.fd = commands.get(), .events = POLLIN, .revents = 0},
                                  {.fd = process.pidfd(), .events = POLLIN, .revents = 0},
                                  {.fd = interrupt_fd(), .events = POLLIN, .revents = 0}}};
    for (;;) {
      const auto left_ms = std::chrono::duration_cast<milliseconds>(deadline - now()).count();
      if (left_ms <= 0) return CommandEnd::How::kTimeLimit;
      if (::poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(left_ms + 1, 10'000))) < 0) continue;
      stop_if_interrupted();
      if (fds[0].revents != 0 && !drain(output.get(), text)) fds[0].fd = -1;
      if (fds[2].revents != 0) return CommandEnd::How::kShellEnded;
      if (fds[1].revents == 0) continue;
      if (!take_status(status)) return CommandEnd::How::kShellEnded;
      if (!status.empty() && status.back() == '\0') return CommandEnd::How::kExited;
    }
  }
};

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Shell::Shell(ShellSettings settings) : settings_(std::move(settings)) {}
Shell::~Shell() = default;

void Shell::start() {
  auto [host, inside] = socket_pair();
  Pipe output = make_pipe();
  sandbox::Spec spec;
  sandbox::add_system(spec);
  const bool moved = sandbox::probe().has("mount_ns");
  const fs::path workspace = moved ? fs::path(kInside) : fs::absolute(settings_.workspace);
  spec.argv = {"/bin/bash", "--noprofile", "--norc", "-c", kDriver};
  spec.env = {"PATH=/usr/local/cuda/bin:/usr/bin:/bin", "HOME=/tmp", "LC_ALL=C.UTF-8", "TERM=dumb"};
  spec.env.insert(spec.env.end(), settings_.environment.begin(), settings_.environment.end());
  spec.mounts.push_back(
      {.host = fs::absolute(settings_.workspace), .inside = workspace, .access = sandbox::Access::kReadWrite});
  spec.mounts.insert(spec.mounts.end(), settings_.mounts.begin(), settings_.mounts.end());
  spec.work_folder = workspace;
  spec.limits.memory_bytes = kMemoryBytes;
  spec.limits.scratch_bytes = kScratchBytes;
  spec.limits.tasks = kTasks;
  spec.limits.wall = milliseconds(0);
  spec.descriptors = {
      {output.write.get(), 1}, {output.write.get(), 2}, {inside.get(), kCommands}, {inside.get(), kStatus}};
  sandbox::Process process = sandbox::start(spec);
  if (::fcntl(output.read.get(), F_SETFL, O_NONBLOCK) != 0) throw_errno("fcntl");
  state_ = std::make_unique<State>(State{std::move(process), std::move(host), std::move(output.read)});
}

CommandEnd Shell::run(const std::string& command, nanoseconds limit) {
  if (!state_) start();
  BoundedText text(settings_.output_limit / 2);
  std::string status;
  CommandEnd end;
  // What a background job wrote meanwhile belongs to what is seen next.
  end.how = state_->send(command) ? state_->wait(limit, text, status) : CommandEnd::How::kShellEnded;
  drain(state_->output.get(), text);
  end.output = valid_utf8(text.text());
  if (end.how == CommandEnd::How::kExited) {
    end.exit_code = std::atoi(status.c_str());
  } else {
    state_.reset();
  }
  return end;
}

// The driver is the first process inside, which a signal to all leaves out.
void Shell::pause() {
  if (state_) run("kill -STOP -1 2>/dev/null", kPauseLimit);
}

void Shell::go_on() {
  if (state_) run("kill -CONT -1 2>/dev/null", kPauseLimit);
}

}  // namespace ww::agent
