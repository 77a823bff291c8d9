// SPDX-License-Identifier: Apache-2.0
#include "judge/affinity.h"

#include <dirent.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ww::judge {
namespace {

cpu_set_t read_own() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  return set;
}

/// Of this process at its start.
const cpu_set_t& own_cores() {
  static const cpu_set_t set = read_own();
  return set;
}

/// Ascending, hence in the order in which they were made.
std::vector<pid_t> threads_of(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", pid);
  std::vector<pid_t> threads;
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return threads;
  while (const dirent* entry = ::readdir(folder)) {
    const long thread = std::strtol(entry->d_name, nullptr, 10);
    if (thread > 0) threads.push_back(static_cast<pid_t>(thread));
  }
  ::closedir(folder);
  std::sort(threads.begin(), threads.end());
  return threads;
}

}  // namespace

void spread_threads(pid_t pid) {
  const std::vector<pid_t> threads = threads_of(pid);
  const bool one_each = threads.size() == static_cast<size_t>(CPU_COUNT(&own_cores()));
  int core = -1;
  for (const pid_t thread : threads) {
    cpu_set_t set = own_cores();
    if (one_each) {
      do core++;
      while (!CPU_ISSET(core, &own_cores()));
      CPU_ZERO(&set);
      CPU_SET(core, &set);
    }
    ::sched_setaffinity(thread, sizeof set, &set);
  }
}

}  // namespace ww::judge
