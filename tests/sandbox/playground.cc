// SPDX-License-Identifier: Apache-2.0
#include "playground.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "attempts.h"
#include "base/fault.h"
#include "base/fd.h"

namespace ww::sandbox {

using attempts::kFailed;
using attempts::kSucceeded;

bool sandbox_is_required() {
  const char* text = std::getenv("WW_REQUIRE_SANDBOX");
  return text != nullptr && std::string(text) == "1";
}

Playground::Playground() : secret_("ww-secret-"), shared_("ww-shared-") {
  write_file(secret(), "the secret");
  // Only the sandbox stands between the attempts and the secret.
  fs::permissions(secret_.path(), fs::perms(0755));
  fs::permissions(secret(), fs::perms(0644));
  fs::permissions(shared_.path(), fs::perms(0755));
  lend(shared_.path());
}

Spec Playground::spec(const std::string& attempt, const Words& arguments) const {
  Spec spec;
  spec.argv = {"/attempts", attempt};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  add_system(spec);
  spec.mounts.push_back({WW_ATTEMPTS, "/attempts"});
  spec.mounts.push_back({shared(), "/shared", Access::kReadWrite});
  spec.limits.wall = milliseconds(10'000);
  return spec;
}

int Playground::outside(const std::string& attempt, const Words& arguments) const {
  Words argv = {WW_ATTEMPTS, attempt};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return run_child(argv, milliseconds(10'000)).exit_code;
}

void Playground::expect_stopped(const std::string& attempt, const Words& arguments) const {
  expect_stopped(attempt, arguments, arguments);
}

void Playground::expect_stopped(const std::string& attempt, const Words& inside_arguments,
                                const Words& outside_arguments) const {
  expect_stopped_inside(attempt, inside_arguments);
  EXPECT_EQ(outside(attempt, outside_arguments), kSucceeded) << "the attempt itself is broken";
}

void Playground::expect_stopped_inside(const std::string& attempt, const Words& arguments) const {
  const Ended ended = inside(attempt, arguments);
  EXPECT_EQ(ended.how, How::kExited) << attempt << ": " << name(ended.how);
  EXPECT_EQ(ended.exit_code, kFailed) << attempt << " got out. " << ended.errors;
}

Victim::Victim() {
  // Opened by us: the folder of the build may be closed to the user that it runs as.
  const Fd program(::open(WW_ATTEMPTS, O_PATH | O_CLOEXEC));
  if (!program.valid()) throw_errno("opening " WW_ATTEMPTS);
  pid_ = ::fork();
  if (pid_ == 0) {
    if (::geteuid() == 0 && ::setresuid(inside_uid(), inside_uid(), inside_uid()) != 0) ::_exit(1);
    char* const arguments[] = {const_cast<char*>(WW_ATTEMPTS), const_cast<char*>("victim"), nullptr};
    ::fexecve(program.get(), arguments, ::environ);
    ::_exit(1);
  }
  if (pid_ < 0) throw_errno("starting a victim");
}

Victim::~Victim() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool Victim::alive() const {
  siginfo_t info = {};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

}  // namespace ww::sandbox
