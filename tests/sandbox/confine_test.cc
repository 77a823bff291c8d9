// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <signal.h>

#include <sstream>

#include "playground.h"

namespace ww::sandbox {
namespace {

class Confined : public Playground {
 protected:
  void SetUp() override {
    WW_NEEDS("seccomp");
    WW_NEEDS("landlock");
  }

  Words names(const std::string& kind) const {
    std::istringstream text(inside("list_names", {kind}).output);
    Words list;
    for (std::string line; std::getline(text, line);) list.push_back(line);
    return list;
  }
};

TEST_F(Confined, CodeDiesOfForbiddenActs) {
  const Words acts = names("fatal");
  ASSERT_GE(acts.size(), 15u);
  for (const std::string& act : acts) {
    const Ended ended = inside("fatal", {"confined", act});
    EXPECT_EQ(ended.how, How::kDeniedSyscall) << act << " " << ended.exit_code;
  }
}

TEST_F(Confined, ForbiddenActsAreNamed) {
  for (const std::string& act : names("fatal")) {
    Spec spec = this->spec("fatal", {"named", act});
    spec.denial_fd = 9;
    const Ended ended = run(spec);
    EXPECT_EQ(ended.how, How::kDeniedSyscall) << act << " " << ended.exit_code;
    const std::string call = act == "spawn" || act == "fork" ? "clone" : act == "exec" ? "execve" : act;
    EXPECT_EQ(ended.denied_syscall, call);
  }
  for (const std::string& act : names("honest")) {
    Spec spec = this->spec("honest", {"named", act});
    spec.denial_fd = 9;
    EXPECT_TRUE(run(spec).ok()) << act;
  }
}

TEST_F(Confined, ForbiddenActsAreNamedWhileNobodyWaits) {
  Spec spec = this->spec("fatal", {"named", "socket"});
  spec.denial_fd = 9;
  const Process process = start(spec);
  pollfd ended = {process.pidfd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 5000), 1);
}

TEST_F(Confined, CodeIsRefusedWhatHonestLibrariesMayTry) {
  const Words acts = names("refused");
  ASSERT_GE(acts.size(), 10u);
  for (const std::string& act : acts) {
    for (const char* mode : {"confined", "named"}) {
      Spec spec = this->spec("refused", {mode, act});
      spec.denial_fd = std::string(mode) == "named" ? 9 : -1;
      const Ended ended = run(spec);
      EXPECT_EQ(ended.how, How::kExited) << act;
      EXPECT_EQ(ended.exit_code, 10) << act;
    }
  }
}

TEST_F(Confined, HonestCodeWorks) {
  const Words acts = names("honest");
  ASSERT_GE(acts.size(), 8u);
  for (const std::string& act : acts) {
    const Ended ended = inside("honest", {"confined", act});
    EXPECT_TRUE(ended.ok()) << act << " " << name(ended.how) << " " << ended.exit_code << ended.errors;
  }
}

TEST_F(Confined, ThreadsThatWereThereBeforeAreConfinedToo) {
  EXPECT_EQ(inside("fatal_on_old_thread").how, How::kDeniedSyscall);
}

TEST_F(Confined, CrashesAreNotTakenForForbiddenActs) {
  EXPECT_EQ(inside("crash", {"abort"}).how, How::kSignalled);
  EXPECT_EQ(inside("crash", {"segv"}).signal, SIGSEGV);
  EXPECT_EQ(inside("crash", {"exit"}).exit_code, 7);
}

}  // namespace
}  // namespace ww::sandbox
