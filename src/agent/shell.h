// SPDX-License-Identifier: Apache-2.0
//
// A bash that lives on from one command to the next, in the sandbox: it sees the workspace, the system's programs and
// what it is lent, no network and nothing of ours. What it says is a program's word and nothing is decided by it.
// Started with the first command; dies with the object and with the thread that started it. Single-threaded.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sandbox/sandbox.h"

namespace ww::agent {

struct ShellSettings {
  std::filesystem::path workspace;            ///< of the host, lent (sandbox.h); /workspace inside
  std::vector<sandbox::Mount> mounts = {};    ///< headers, playbooks
  std::vector<std::string> environment = {};  ///< "NAME=value"
  size_t output_limit = 30'000;               ///< bytes kept of a command's output
};

struct CommandEnd {
  enum class How { kExited, kTimeLimit, kShellEnded };
  How how = How::kExited;
  int exit_code = 0;   ///< kExited only
  std::string output;  ///< stdout and stderr as they came, valid UTF-8, cut in the middle
};

class Shell {
 public:
  explicit Shell(ShellSettings settings);
  ~Shell();

  /// Runs `command` to its end. After kTimeLimit and kShellEnded the next command gets a new shell: variables, the
  /// working folder and background jobs are gone. Requires: no NUL in `command`. Throws Fault, kInterrupted included.
  CommandEnd run(const std::string& command, nanoseconds limit);

  bool started() const { return state_ != nullptr; }

  /// Stops every program in the shell and lets it go on, for a time when the machine has to be quiet. Best effort.
  void pause();
  void go_on();

 private:
  struct State;
  void start();

  ShellSettings settings_;
  std::unique_ptr<State> state_;
};

/// `text` as one word of a shell command.
std::string shell_quoted(const std::string& text);

}  // namespace ww::agent
