// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/fault.h"
#include "playground.h"

namespace ww::sandbox {
namespace {

class Files : public Playground {
 protected:
  void SetUp() override { WW_NEEDS("mount_ns"); }
};
class Processes : public Playground {
 protected:
  void SetUp() override { WW_NEEDS("pid_ns"); }
};
class Network : public Playground {};
class Privileges : public Playground {};

TEST_F(Files, OfTheHostCannotBeRead) {
  expect_stopped("read_file", {secret()});
  expect_stopped_inside("read_file", {"/etc/shadow"});
  expect_stopped_inside("read_file", {"/root/.bashrc"});
  expect_stopped_inside("read_file", {std::string(WW_ATTEMPTS)});
}

TEST_F(Files, OfTheHostCannotBeReadThroughLinksProcOrParents) {
  expect_stopped("read_through_link", {"/shared", secret()}, {secret().substr(0, secret().rfind('/')), secret()});
  expect_stopped("read_through_proc", {secret()});
  expect_stopped("climb_out", {secret()});
  expect_stopped_inside("break_chroot", {secret()});
}

TEST_F(Files, OutsideWritableMountsCannotBeWritten) {
  for (const char* path : {"/x", "/usr/x", "/etc/x", "/etc/passwd", "/attempts", "/proc/x", "/dev/x", "/sys/x"}) {
    expect_stopped_inside("write_file", {path});
  }
  EXPECT_EQ(outside("write_file", {(shared() / "control").string()}), 0);
  EXPECT_TRUE(inside("write_file", {"/shared/x"}).ok());
  EXPECT_TRUE(inside("write_file", {"/tmp/x"}).ok());
  EXPECT_TRUE(inside("write_file", {"/dev/shm/x"}).ok());
  EXPECT_TRUE(fs::exists(shared() / "x"));
  EXPECT_FALSE(fs::exists("/tmp/x") && fs::file_size("/tmp/x") == 1);
}

TEST_F(Files, MountedReadOnlyStayReadOnly) {
  Spec spec = this->spec("remount_writable", {"/shared"});
  spec.mounts.back().access = Access::kReadOnly;
  EXPECT_EQ(run(spec).exit_code, 10);
  EXPECT_TRUE(inside("remount_writable", {"/shared"}).ok());
}

TEST_F(Files, WrittenInsideAreNotOwnedByRoot) {
  ASSERT_TRUE(inside("write_file", {"/shared/x"}).ok());
  struct stat facts;
  ASSERT_EQ(::stat((shared() / "x").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, inside_uid());
  EXPECT_NE(facts.st_uid, 0u);
}

TEST_F(Files, MountsCannotBeMade) { expect_stopped_inside("mount_something"); }
TEST_F(Files, DevicesCannotBeOpened) { expect_stopped_inside("open_disk"); }
TEST_F(Files, KernelSettingsCannotBeWritten) { expect_stopped_inside("write_kernel_settings"); }
TEST_F(Files, OwnMemoryCannotBeWrittenThroughProc) { expect_stopped("write_own_memory_file"); }

TEST_F(Files, LinkLeftInASharedFolderDoesNotMoveAMount) {
  fs::create_directory_symlink("/etc", shared() / "inner");
  Spec spec = this->spec("read_file", {"/etc/secret"});
  spec.mounts.push_back({fs::path(secret()).parent_path(), "/shared/inner"});
  EXPECT_THROW(run(spec), Fault);
}

TEST_F(Files, MissingMountIsAFaultUnlessOptional) {
  Spec spec = this->spec("is_root");
  spec.mounts.push_back({"/no/such/folder", "/x", Access::kReadOnly, true});
  EXPECT_EQ(run(spec).exit_code, 10);
  spec.mounts.back().optional = false;
  try {
    run(spec);
    FAIL() << "no fault";
  } catch (const Fault& fault) {
    EXPECT_NE(std::string(fault.what()).find("/no/such/folder"), std::string::npos) << fault.what();
    EXPECT_EQ(fault.kind(), Fault::Kind::kMissing);
  }
}

TEST_F(Processes, OutsideCannotBeSeenKilledTracedOrRead) {
  const Victim victim;
  for (const char* attempt : {"see_processes", "kill_process", "trace_process", "read_process_memory"}) {
    expect_stopped_inside(attempt, {victim.pid()});
  }
  inside("kill_everything");
  EXPECT_TRUE(victim.alive());
  EXPECT_EQ(outside("see_processes", {victim.pid()}), 0);
  EXPECT_EQ(outside("trace_process", {victim.pid()}), 0);
  EXPECT_EQ(outside("read_process_memory", {victim.pid()}), 0);
  EXPECT_EQ(outside("kill_process", {victim.pid()}), 0);
}

TEST_F(Processes, HaveNoParentToSee) { expect_stopped("has_parent"); }

TEST_F(Processes, CannotTraceEvenTheirOwn) {
  WW_NEEDS("seccomp");
  expect_stopped("trace_own_child");
}

TEST_F(Processes, LeftBehindDie) {
  const auto size = [](const fs::path& path) { return fs::exists(path) ? fs::file_size(path) : 0; };
  ASSERT_TRUE(inside("leave_daemon", {"/shared/inside"}).ok());
  ASSERT_EQ(outside("leave_daemon", {(shared() / "outside").string()}), 0);
  const auto inside_before = size(shared() / "inside"), outside_before = size(shared() / "outside");
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_GT(inside_before, 0u) << "the daemon never ran";
  EXPECT_EQ(size(shared() / "inside"), inside_before);
  EXPECT_GT(size(shared() / "outside"), outside_before) << "the attempt itself is broken";
}

TEST_F(Processes, DieWithTheProcessThatStartedThem) {
  const Pipe pipe = make_pipe();
  const pid_t starter = ::fork();
  if (starter == 0) {
    Process process = start(spec("outlive_parent"));
    const pid_t pid = process.pid();
    if (::write(pipe.write.get(), &pid, sizeof pid) != sizeof pid) ::_exit(1);
    ::pause();
  }
  pid_t pid = 0;
  ASSERT_EQ(::read(pipe.read.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ASSERT_EQ(::kill(pid, 0), 0);
  std::this_thread::sleep_for(milliseconds(50));  // long enough to have asked to be spared
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    // Whoever adopts the dead may be slow to collect them.
    const auto state = read_file("/proc/" + std::to_string(pid) + "/stat");
    gone = !state.ok() || state->find(") Z ") != std::string::npos;
  }
  EXPECT_TRUE(gone);
}

TEST_F(Processes, GetOnlyTheDescriptorsHandedOver) {
  const int leaked = ::open(secret().c_str(), O_RDONLY);  // not close-on-exec
  ASSERT_GE(leaked, 0);
  expect_stopped("find_descriptor");
  Spec spec = this->spec("find_descriptor");
  spec.descriptors = {{leaked, 7}};
  EXPECT_EQ(run(spec).exit_code, 0);
  ::close(leaked);
}

TEST_F(Processes, GetOnlyTheEnvironmentListed) {
  expect_stopped("find_environment");
  Spec spec = this->spec("find_environment");
  spec.env = {"A=b"};
  EXPECT_EQ(run(spec).exit_code, 0);
}

TEST_F(Processes, StartWithTheAffinityListed) {
  Spec spec = this->spec("is_root");
  spec.argv = {"/usr/bin/nproc"};
  spec.cpus = {0};
  EXPECT_EQ(run(spec).output, "1\n");
}

TEST_F(Network, OfTheHostCannotBeReached) {
  WW_NEEDS("net_ns");
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  expect_stopped("connect_tcp", {std::to_string(ntohs(address.sin_port))});
}

TEST_F(Network, AbstractSocketsOfTheHostCannotBeReached) {
  WW_NEEDS("net_ns");
  const std::string socket_name = "ww-sandbox-test-" + std::to_string(::getpid());
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path + 1, socket_name.data(), socket_name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + socket_name.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  expect_stopped("connect_abstract", {socket_name});
}

TEST_F(Network, SocketsOtherThanUnixOnesCannotBeMade) {
  WW_NEEDS("seccomp");
  expect_stopped("open_sockets");
}

TEST_F(Privileges, CannotBeGained) {
  expect_stopped_inside("is_root");
  expect_stopped_inside("become_root");
}

TEST_F(Privileges, CannotBeGainedFromASetuidProgram) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a setuid-root program";
  const fs::path program = shared() / "setuid";
  fs::copy_file(WW_ATTEMPTS, program);
  ASSERT_EQ(::chown(program.c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  Spec spec = this->spec("is_root");
  spec.argv[0] = "/shared/setuid";
  EXPECT_EQ(run(spec).exit_code, 10);
  const ChildResult control =
      run_child({"/usr/bin/setpriv", "--reuid=65534", "--clear-groups", program.string(), "is_root"}, seconds(10));
  EXPECT_EQ(control.exit_code, 0) << "the attempt itself is broken";
}

TEST_F(Privileges, NamespacesCannotBeMade) { expect_stopped_inside("make_namespaces"); }

TEST_F(Privileges, KernelInterfacesAreDenied) {
  WW_NEEDS("seccomp");
  expect_stopped("call_kernel_interfaces");
}

TEST_F(Privileges, OtherSystemCallAbisEndTheProcess) {
  WW_NEEDS("seccomp");
  EXPECT_EQ(inside("call_through_other_abi").how, How::kDeniedSyscall);
}

}  // namespace
}  // namespace ww::sandbox
