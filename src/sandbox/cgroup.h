// SPDX-License-Identifier: Apache-2.0
//
// Control groups, version 1, version 2 and hybrids of them: memory, number of tasks, processor time. Internal to
// sandbox/, except that paths are parsed by pure functions for the tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"

namespace ww::sandbox {

struct Limits;

/// The group we live in, for one controller: groups for programs are made below `folder`.
struct CgroupPlace {
  std::filesystem::path folder;
  int version = 0;      ///< 1, 2; 0: there is none
  std::string missing;  ///< why, where `version` is 0

  bool present() const { return version != 0; }
};

struct CgroupPlaces {
  CgroupPlace memory;
  CgroupPlace pids;
  CgroupPlace cpu;
};

/// Where the groups of this process are, from the texts of /proc/self/mountinfo and /proc/self/cgroup. Whether they may
/// be used is not known yet.
CgroupPlaces parse_cgroups(std::string_view mountinfo, std::string_view memberships);

/// The value of `key` in lines "key value", 0 if absent.
uint64_t keyed_value(std::string_view text, std::string_view key);

/// parse_cgroups of this process, less the places where no group can be made or limits cannot be set; removes groups
/// that earlier processes, now dead, left behind.
CgroupPlaces usable_cgroups();

/// One program's groups; removed by the destructor (its tasks must be gone by then, else they stay until the next
/// usable_cgroups).
class Cgroup {
 public:
  /// Makes the groups under a name of their own and sets the limits. Throws Fault.
  Cgroup(const CgroupPlaces& places, const Limits& limits);
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();

  /// A process of one thread that writes "0" to each of them joins.
  std::vector<int> join_fds() const;

  bool accounts_cpu() const { return !cpu_.empty(); }
  nanoseconds cpu_used() const;
  bool accounts_memory() const { return !memory_.empty(); }
  bool counts_tasks() const { return !pids_.empty(); }
  uint64_t memory_used() const;
  uint64_t memory_peak() const;
  uint64_t memory_kills() const;
  uint64_t task_refusals() const;

  /// SIGKILL to every member; only needed where no pid namespace does it.
  void kill_members() const;

 private:
  void make(const CgroupPlace& place, std::filesystem::path& group, const std::string& name);
  void set_limits(const CgroupPlaces& places, const Limits& limits) const;

  std::filesystem::path memory_, pids_, cpu_;  // equal on version 2
  int memory_version_ = 0;
  int cpu_version_ = 0;
  std::vector<std::filesystem::path> made_;
  std::vector<Fd> joins_;
};

}  // namespace ww::sandbox
