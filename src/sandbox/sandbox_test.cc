// SPDX-License-Identifier: Apache-2.0
//
// What needs no namespaces: parsing, planning, filters. The walls themselves are tried in tests/sandbox/.
#include "sandbox/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sandbox/cgroup.h"
#include "sandbox/mounts.h"
#include "sandbox/seccomp.h"
#include "sandbox/syscall_lists.h"

namespace ww::sandbox {
namespace {

constexpr char kVersion1Mounts[] =
    "20 1 0:1 / / rw - ext4 /dev/vda rw\n"
    "34 26 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "35 26 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:5 - cgroup cgroup rw,cpu,cpuacct\n"
    "36 26 0:32 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
    "37 26 0:33 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
constexpr char kVersion2Mounts[] = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(CgroupPaths, OfVersion1AreFoundPerController) {
  const CgroupPlaces places =
      parse_cgroups(kVersion1Mounts, "8:pids:/\n4:memory:/user/a b\n2:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/z\n");
  EXPECT_EQ(places.memory.folder, "/sys/fs/cgroup/memory/user/a b");
  EXPECT_EQ(places.memory.version, 1);
  EXPECT_EQ(places.pids.folder, "/sys/fs/cgroup/pids");
  EXPECT_EQ(places.cpu.folder, "/sys/fs/cgroup/cpu,cpuacct/x");
}

TEST(CgroupPaths, OfVersion2AreOneForAll) {
  const CgroupPlaces places = parse_cgroups(kVersion2Mounts, "0::/user.slice/session-3.scope\n");
  for (const CgroupPlace* place : {&places.memory, &places.pids, &places.cpu}) {
    EXPECT_EQ(place->folder, "/sys/fs/cgroup/user.slice/session-3.scope");
    EXPECT_EQ(place->version, 2);
  }
}

TEST(CgroupPaths, OfAHybridUseVersion2ForWhatVersion1DoesNotHold) {
  const CgroupPlaces places = parse_cgroups(
      "34 26 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n30 20 0:26 / /cg/unified rw - cgroup2 cgroup2 rw\n",
      "4:memory:/m\n0::/u\n");
  EXPECT_EQ(places.memory.version, 1);
  EXPECT_EQ(places.pids.version, 2);
  EXPECT_EQ(places.pids.folder, "/cg/unified/u");
}

TEST(CgroupPaths, InAContainerAreRelativeToWhatIsMounted) {
  const CgroupPlaces shown =
      parse_cgroups("34 26 0:30 /docker/1f /cg/memory rw - cgroup cgroup rw,memory\n", "4:memory:/docker/1f/inner\n");
  EXPECT_EQ(shown.memory.folder, "/cg/memory/inner");
  const CgroupPlaces own_namespace =
      parse_cgroups("34 26 0:30 /docker/1f /cg/memory rw - cgroup cgroup rw,memory\n", "4:memory:/\n");
  EXPECT_EQ(own_namespace.memory.folder, "/cg/memory");
  const CgroupPlaces elsewhere =
      parse_cgroups("34 26 0:30 /docker/1f /cg/memory rw - cgroup cgroup rw,memory\n", "4:memory:/docker/2e\n");
  EXPECT_FALSE(elsewhere.memory.present());
}

TEST(CgroupPaths, ThatAreNotThereHaveAReason) {
  const CgroupPlaces places = parse_cgroups("", "nonsense\n:\n::\n");
  EXPECT_FALSE(places.memory.present());
  EXPECT_FALSE(places.memory.missing.empty());
}

TEST(KeyedValue, IsFoundByItsWholeKey) {
  EXPECT_EQ(keyed_value("oom 3\noom_kill 7\n", "oom_kill"), 7u);
  EXPECT_EQ(keyed_value("oom_kill_disable 1\noom_kill 0\n", "oom_kill"), 0u);
  EXPECT_EQ(keyed_value("usage_usec 12\n", "usage"), 0u);
}

TEST(MountPlan, KeepsTheOrderOfTheSpecAfterTheFixedParts) {
  Spec spec;
  spec.mounts = {{"/host/a", "/a", Access::kReadWrite}, {"/host/b"}};
  const auto plan = plan_mounts(spec, Layers{});
  ASSERT_GE(plan.size(), 2u);
  EXPECT_EQ(plan[plan.size() - 2].target, "/a");
  EXPECT_EQ(plan[plan.size() - 2].access, Access::kReadWrite);
  EXPECT_EQ(plan.back().target, "/host/b");
  EXPECT_EQ(plan.back().access, Access::kReadOnly);
}

TEST(MountPlan, HasAProcOnlyWithItsOwn) {
  const auto has_proc = [](bool own_proc) {
    const auto plan = plan_mounts(Spec{}, Layers{.own_proc = own_proc});
    return std::any_of(plan.begin(), plan.end(),
                       [](const MountStep& step) { return step.kind == MountStep::Kind::kProc; });
  };
  EXPECT_TRUE(has_proc(true));
  EXPECT_FALSE(has_proc(false));
}

TEST(SyscallLists, DoNotContradictEachOther) {
  std::set<std::string> seen;
  for (const auto* list : {&allowed_to_runner(), &refused_to_runner(), &fatal_to_runner()}) {
    for (const char* call : *list) EXPECT_TRUE(seen.insert(call).second) << call << " is listed twice";
  }
  std::set<std::string> tools;
  for (const auto* list : {&denied_to_tools(), &conditional_for_tools()}) {
    for (const char* call : *list) EXPECT_TRUE(tools.insert(call).second) << call << " is listed twice";
  }
}

TEST(SyscallLists, LetTheRunnerDoNothingThatToolsMayNot) {
  const std::set<std::string> denied(denied_to_tools().begin(), denied_to_tools().end());
  for (const char* call : allowed_to_runner()) EXPECT_EQ(denied.count(call), 0u) << call;
}

TEST(Filters, FitIntoTheKernel) {
  constexpr size_t kKernelLimit = 4096;  // BPF_MAXINSNS
  EXPECT_GT(tools_filter().size(), 100u);
  EXPECT_LT(tools_filter().size(), kKernelLimit);
  EXPECT_LT(native_runner_filter(1, OnFatal::kKill).size(), kKernelLimit);
  EXPECT_LT(native_runner_filter(1, OnFatal::kNotify).size(), kKernelLimit);
}

TEST(IsolationSummary, IsFullOnlyIfNothingIsMissing) {
  Isolation isolation;
  for (const char* layer : {"user_ns", "mount_ns", "uid_drop", "landlock", "seccomp"}) {
    isolation.layers.push_back({layer, true, ""});
  }
  EXPECT_EQ(isolation.summary(), "full");
  isolation.layers[0].present = false;  // root does without
  EXPECT_EQ(isolation.summary(), "full");
  isolation.layers[3] = {"landlock", false, "no such system call"};
  EXPECT_EQ(isolation.summary(), "partial");
  EXPECT_THAT(isolation.text(), testing::HasSubstr("MISSING  no such system call"));
  isolation.layers[1].present = isolation.layers[4].present = false;
  EXPECT_EQ(isolation.summary(), "none");
}

}  // namespace
}  // namespace ww::sandbox
