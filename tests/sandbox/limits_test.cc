// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/fault.h"
#include "playground.h"
#include "sandbox/cgroup.h"

namespace ww::sandbox {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class Limit : public Playground {};
class Running : public Playground {};

TEST_F(Limit, OfTasksStopsForksAndThreads) {
  for (const char* attempt : {"fork_many", "start_many_threads"}) {
    Spec spec = this->spec(attempt, {"40"});
    spec.limits.tasks = 16;
    const Ended refused = run(spec);
    EXPECT_EQ(refused.exit_code, 10) << attempt;
    EXPECT_EQ(refused.task_limit_hit, probe().has("cgroup_pids"));
    spec.limits.tasks = 64;
    const Ended allowed = run(spec);
    EXPECT_EQ(allowed.exit_code, 0) << attempt;
    EXPECT_FALSE(allowed.task_limit_hit);
  }
}

TEST_F(Limit, OfWallTimeEndsAForkBombWhole) {
  Spec spec = this->spec("fork_bomb");
  spec.limits.tasks = 30;
  spec.limits.wall = milliseconds(200);
  Process process = start(spec);
  const pid_t pid = process.pid();
  EXPECT_EQ(process.wait().how, How::kWallLimit);
  EXPECT_FALSE(fs::exists("/proc/" + std::to_string(pid)));
}

TEST_F(Limit, OfMemoryEndsAProcess) {
  WW_NEEDS("cgroup_memory");
  Spec spec = this->spec("fill_memory", {std::to_string(200 * kMiB)});
  spec.limits.memory_bytes = 64 * kMiB;
  const Ended bomb = run(spec);
  EXPECT_EQ(bomb.how, How::kOutOfMemory);
  EXPECT_LE(bomb.peak_bytes, 64 * kMiB);
  spec.limits.memory_bytes = 400 * kMiB;
  const Ended enough = run(spec);
  EXPECT_TRUE(enough.ok());
  EXPECT_GE(enough.peak_bytes, 200 * kMiB);
}

TEST_F(Limit, OfMemoryHoldsWithoutCgroupsForEachProcess) {
  if (probe().has("cgroup_memory")) GTEST_SKIP() << "there is cgroup_memory";
  Spec spec = this->spec("fill_memory", {std::to_string(200 * kMiB)});
  spec.limits.memory_bytes = 64 * kMiB;
  EXPECT_EQ(run(spec).exit_code, 10);
}

TEST_F(Limit, OfMemoryCountsTheTreeAndItsFiles) {
  WW_NEEDS("cgroup_memory");
  Spec spec = this->spec("fill_memory_together", {std::to_string(200 * kMiB)});
  spec.limits.memory_bytes = 64 * kMiB;
  EXPECT_EQ(run(spec).how, How::kOutOfMemory);
  spec.argv = {"/attempts", "fill_memory_file", std::to_string(200 * kMiB)};
  EXPECT_EQ(run(spec).how, How::kOutOfMemory);
  spec.argv = {"/attempts", "fill_file", "/tmp/x", std::to_string(200 * kMiB)};
  spec.limits.scratch_bytes = 400 * kMiB;
  EXPECT_EQ(run(spec).how, How::kOutOfMemory);
}

TEST_F(Limit, OfScratchSpaceAndItsFiles) {
  WW_NEEDS("mount_ns");
  Spec spec = this->spec("fill_file", {"/tmp/x", std::to_string(40 * kMiB)});
  spec.limits.scratch_bytes = 16 * kMiB;
  EXPECT_EQ(run(spec).exit_code, 10);
  spec.limits.scratch_bytes = 64 * kMiB;
  EXPECT_EQ(run(spec).exit_code, 0);
  spec.limits.scratch_bytes = 0;
  EXPECT_EQ(run(spec).exit_code, 10);
  spec.argv = {"/attempts", "make_many_files", "/", "100"};
  EXPECT_EQ(run(spec).exit_code, 10);
}

TEST_F(Limit, OfFileSize) {
  Spec spec = this->spec("fill_file", {"/shared/x", std::to_string(4 * kMiB)});
  spec.limits.file_bytes = kMiB;
  EXPECT_EQ(run(spec).exit_code, 10);
  EXPECT_LE(fs::file_size(shared() / "x"), kMiB);
  spec.limits.file_bytes = 8 * kMiB;
  EXPECT_EQ(run(spec).exit_code, 0);
}

TEST_F(Limit, OfOutputKeepsTheFirstBytesOfAFlood) {
  Spec spec = this->spec("flood_output");
  spec.limits.output_bytes = 1000;
  spec.limits.wall = milliseconds(100);
  const Ended flood = run(spec);
  EXPECT_EQ(flood.how, How::kWallLimit);
  EXPECT_EQ(flood.output, std::string(1000, 'x'));
  EXPECT_TRUE(flood.output_cut);
  EXPECT_TRUE(flood.errors_cut);
}

TEST_F(Limit, OfWallTimeEndsWhatStopsItselfOrBlocksSignals) {
  for (const char* attempt : {"stop_itself", "ignore_everything", "outlive_parent"}) {
    Spec spec = this->spec(attempt);
    spec.limits.wall = milliseconds(100);
    EXPECT_EQ(run(spec).how, How::kWallLimit) << attempt;
  }
}

TEST_F(Limit, OfProcessorTimeCountsTheTree) {
  WW_NEEDS("cgroup_cpu");
  Spec spec = this->spec("spin");
  spec.limits.cpu = milliseconds(150);
  const Ended ended = run(spec);
  EXPECT_EQ(ended.how, How::kCpuLimit);
  EXPECT_GE(ended.cpu, milliseconds(150));
}

TEST(CgroupVersion2, AccountsForAndKillsItsMembers) {
  const fs::path unified = fs::exists("/sys/fs/cgroup/unified") ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
  if (::access((unified / "cgroup.procs").c_str(), W_OK) != 0) {
    GTEST_SKIP() << "no cgroup of version 2 that we may write to";
  }
  CgroupPlaces places;
  places.cpu = {unified, 2, ""};
  const Cgroup cgroup(places, Limits{});
  ASSERT_EQ(cgroup.join_fds().size(), 1u);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::write(cgroup.join_fds()[0], "0", 1) != 1) ::_exit(1);
    while (true) {
    }
  }
  for (int i = 0; i < 500 && cgroup.cpu_used() < milliseconds(10); ++i) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_GE(cgroup.cpu_used(), milliseconds(10));
  cgroup.kill_members();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(Running, SaysHowItEnded) {
  Spec spec = this->spec("x");
  spec.argv = {"/bin/sh", "-c", "cat; echo words >&2; exit 7"};
  const Ended ended = run(spec, "input");
  EXPECT_EQ(ended.how, How::kExited);
  EXPECT_EQ(ended.exit_code, 7);
  EXPECT_EQ(ended.output, "input");
  EXPECT_EQ(ended.errors, "words\n");
  spec.argv[2] = "/bin/sh -c 'kill -SEGV $$'";
  EXPECT_EQ(run(spec).exit_code, 128 + SIGSEGV);
}

TEST_F(Running, GivesAllOfALongInput) {
  Spec spec = this->spec("x");
  spec.argv = {"/usr/bin/wc", "-c"};
  EXPECT_EQ(run(spec, std::string(3 << 20, 'x')).output, "3145728\n");
}

TEST_F(Running, IsAChildThatCanBeStoppedAndContinued) {
  Process process = start(spec("ignore_everything"));
  siginfo_t info = {};
  ASSERT_EQ(::kill(process.pid(), SIGSTOP), 0);
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(process.pid()), &info, WSTOPPED | WNOWAIT), 0);
  EXPECT_EQ(info.si_code, CLD_STOPPED);
  EXPECT_FALSE(process.wait(milliseconds(1)).has_value());
  ::kill(process.pid(), SIGCONT);
  process.kill();
  const Ended ended = process.wait();
  EXPECT_EQ(ended.how, How::kKilled);
  EXPECT_EQ(process.wait(nanoseconds(0))->how, How::kKilled);
}

TEST_F(Running, EndsWithTheObjectEvenWhenStopped) {
  pid_t pid = 0;
  {
    Process process = start(spec("ignore_everything"));
    pid = process.pid();
    ::kill(pid, SIGSTOP);
  }
  EXPECT_FALSE(fs::exists("/proc/" + std::to_string(pid)));
}

TEST_F(Running, CountsProcessorTimeWhileItRuns) {
  Process process = start(spec("spin"));
  nanoseconds used{0};
  for (int i = 0; i < 500 && used < milliseconds(20); ++i) {
    std::this_thread::sleep_for(milliseconds(2));
    used = process.cpu_used();
  }
  EXPECT_GE(used, milliseconds(20));
}

TEST_F(Running, LeavesNoCgroupAndNoDescriptorBehind) {
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  inside("is_root");
  const auto before = descriptors();
  for (int i = 0; i < 3; ++i) inside("is_root");
  EXPECT_EQ(descriptors(), before);
  const std::string name = "warpwright-" + std::to_string(::getpid()) + "-";
  for (const auto& layer : probe().layers) {
    if (!layer.present || layer.name.rfind("cgroup", 0) != 0) continue;
    const fs::path folder = layer.detail.substr(layer.detail.find('/'));
    ASSERT_TRUE(fs::is_directory(folder)) << folder;
    for (const auto& entry : fs::directory_iterator(folder)) {
      EXPECT_NE(entry.path().filename().string().rfind(name, 0), 0u) << entry.path();
    }
  }
}

TEST_F(Running, ThatCannotStartIsAFaultNamingTheProgram) {
  Spec spec = this->spec("x");
  spec.argv = {"/no/such/program"};
  try {
    start(spec);
    FAIL() << "no fault";
  } catch (const Fault& fault) {
    EXPECT_NE(std::string(fault.what()).find("/no/such/program"), std::string::npos) << fault.what();
  }
  spec = this->spec("x");
  spec.work_folder = "/no/such/folder";
  EXPECT_THROW(start(spec), Fault);
}

TEST_F(Running, ManyAtOnceFromManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) good += inside("is_root").exit_code == 10;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 12);
}

}  // namespace
}  // namespace ww::sandbox
