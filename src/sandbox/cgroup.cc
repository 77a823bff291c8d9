// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <sstream>
#include <thread>

#include "base/fault.h"
#include "base/files.h"
#include "sandbox/sandbox.h"

namespace ww::sandbox {
namespace {

constexpr std::string_view kPrefix = "warpwright-";
constexpr time_t kYoungSeconds = 60;

std::string read_text(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char block[4096];
  for (ssize_t count; file.valid() && (count = ::read(file.get(), block, sizeof block)) > 0;) {
    text.append(block, static_cast<size_t>(count));
  }
  return text;
}

uint64_t read_number(const fs::path& path) {
  const std::string text = read_text(path);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// 0 or an errno.
int write_text(const fs::path& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Hierarchy {
  fs::path mount_point;
  std::string root;  // which group the mount point shows
  int version = 0;
  std::vector<std::string> controllers;  // version 1
};

/// A line of mountinfo: "id parent dev ROOT POINT options [tags] - TYPE source SUPEROPTIONS".
std::optional<Hierarchy> parse_hierarchy(const std::string& line) {
  const std::vector<std::string> words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 6 || words.end() - dash < 4) return std::nullopt;
  Hierarchy found{words[4], words[3], 0, {}};
  if (dash[1] == "cgroup2") found.version = 2;
  if (dash[1] == "cgroup") {
    found.version = 1;
    found.controllers = split(dash[3], ',');
  }
  return found.version ? std::optional(found) : std::nullopt;
}

/// `group` as a path under the mount point; nullopt where the mount does not show it.
std::optional<fs::path> folder_of(const Hierarchy& hierarchy, const std::string& group) {
  if (group == "/" || group == hierarchy.root) return hierarchy.mount_point;
  if (hierarchy.root == "/") return hierarchy.mount_point / fs::path(group).relative_path();
  if (group.rfind(hierarchy.root + "/", 0) != 0) return std::nullopt;
  return hierarchy.mount_point / group.substr(hierarchy.root.size() + 1);
}

/// A line of /proc/self/cgroup: "id:controllers:path"; no controllers on version 2.
std::optional<std::string> membership(const std::vector<std::string>& lines, std::string_view controller) {
  for (const std::string& line : lines) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches = controller.empty() ? controllers.empty() : contains(split(controllers, ','), controller);
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

CgroupPlace find_place(const std::vector<Hierarchy>& hierarchies, const std::vector<std::string>& memberships,
                       std::string_view controller) {
  // A controller that version 1 holds is not available to version 2.
  for (const int version : {1, 2}) {
    for (const Hierarchy& hierarchy : hierarchies) {
      if (hierarchy.version != version) continue;
      if (version == 1 && !contains(hierarchy.controllers, controller)) continue;
      const auto group = membership(memberships, version == 1 ? controller : "");
      const auto folder = group ? folder_of(hierarchy, *group) : std::nullopt;
      if (folder) return {*folder, version, ""};
    }
  }
  return {{}, 0, "no cgroup hierarchy with this controller is mounted"};
}

std::string unique_name() {
  static std::atomic<uint64_t> count{0};
  return std::string(kPrefix) + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// rmdir; a group that was just emptied can stay busy for some milliseconds.
void remove_group(const fs::path& group) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (::rmdir(group.c_str()) == 0 || errno != EBUSY) return;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

/// Groups of processes that no longer exist. A young one may belong to a process in another pid namespace, about to
/// fill it.
void sweep(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    pid_t owner = 0;
    if (name.rfind(kPrefix, 0) != 0) continue;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), owner);
    struct stat facts;
    if (::stat(entry.path().c_str(), &facts) != 0 || ::time(nullptr) - facts.st_mtime < kYoungSeconds) continue;
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) ::rmdir(entry.path().c_str());
  }
}

/// Version 2: limits of a child exist only for controllers that its parent enables, and a group with processes of its
/// own (the root excepted) cannot enable any. So our own group if it can, else the one above.
void place_version_2(CgroupPlace& place, std::string_view controller) {
  const std::string enable = "+" + std::string(controller);
  for (const fs::path& folder : {place.folder, place.folder.parent_path()}) {
    if (!fs::exists(folder / "cgroup.subtree_control")) break;
    const fs::path control = folder / "cgroup.subtree_control";
    const auto enabled = [&] {
      std::string text = read_text(control);
      while (!text.empty() && text.back() == '\n') text.pop_back();
      return contains(split(text, ' '), controller);
    };
    if (!enabled()) write_text(control, enable);
    if (enabled()) {
      place.folder = folder;
      return;
    }
  }
  place = {{}, 0, "cgroup v2 does not delegate " + std::string(controller) + " to " + place.folder.string()};
}

/// Tries for real: makes a group and removes it.
void verify_place(CgroupPlace& place, std::string_view controller, std::string_view control_file) {
  if (!place.present()) return;
  // Processor time is accounted for in every group of version 2.
  if (place.version == 2 && controller != "cpuacct") place_version_2(place, controller);
  if (!place.present()) return;
  sweep(place.folder);
  const fs::path group = place.folder / unique_name();
  std::string problem;
  if (::mkdir(group.c_str(), 0755) != 0) {
    problem = "cannot make groups below " + place.folder.string() + ": " + std::strerror(errno);
  } else {
    if (!fs::exists(group / control_file)) problem = group.string() + " has no " + std::string(control_file);
    remove_group(group);
  }
  if (!problem.empty()) place = {{}, 0, problem};
}

}  // namespace

uint64_t keyed_value(std::string_view text, std::string_view key) {
  for (const std::string& line : split(text, '\n')) {
    uint64_t value = 0;
    if (line.rfind(std::string(key) + " ", 0) != 0) continue;
    std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

CgroupPlaces parse_cgroups(std::string_view mountinfo, std::string_view memberships) {
  std::vector<Hierarchy> hierarchies;
  for (const std::string& line : split(mountinfo, '\n')) {
    if (auto hierarchy = parse_hierarchy(line)) hierarchies.push_back(*hierarchy);
  }
  const std::vector<std::string> groups = split(memberships, '\n');
  return {find_place(hierarchies, groups, "memory"), find_place(hierarchies, groups, "pids"),
          find_place(hierarchies, groups, "cpuacct")};
}

CgroupPlaces usable_cgroups() {
  CgroupPlaces places = parse_cgroups(read_text("/proc/self/mountinfo"), read_text("/proc/self/cgroup"));
  verify_place(places.memory, "memory", places.memory.version == 1 ? "memory.limit_in_bytes" : "memory.max");
  verify_place(places.pids, "pids", "pids.max");
  verify_place(places.cpu, "cpuacct", places.cpu.version == 1 ? "cpuacct.usage" : "cpu.stat");
  // One group serves all controllers of version 2.
  if (places.cpu.version == 2 && places.memory.version == 2) places.cpu.folder = places.memory.folder;
  if (places.pids.version == 2 && places.memory.version == 2) places.pids.folder = places.memory.folder;
  return places;
}

Cgroup::Cgroup(const CgroupPlaces& places, const Limits& limits)
    : memory_version_(places.memory.version), cpu_version_(places.cpu.version) {
  const std::string name = unique_name();
  try {
    make(places.memory, memory_, name);
    make(places.pids, pids_, name);
    make(places.cpu, cpu_, name);
    set_limits(places, limits);
  } catch (const Fault&) {
    for (const fs::path& group : made_) ::rmdir(group.c_str());
    throw;
  }
}

Cgroup::~Cgroup() {
  joins_.clear();
  for (const fs::path& group : made_) remove_group(group);
}

void Cgroup::make(const CgroupPlace& place, fs::path& group, const std::string& name) {
  if (!place.present()) return;
  group = place.folder / name;
  if (std::find(made_.begin(), made_.end(), group) != made_.end()) return;
  if (::mkdir(group.c_str(), 0755) != 0) throw_errno("making the cgroup " + group.string());
  made_.push_back(group);
  // One thread that moves itself through `tasks` spares the kernel a lock that costs milliseconds.
  Fd join(::open((group / (place.version == 1 ? "tasks" : "cgroup.procs")).c_str(), O_WRONLY | O_CLOEXEC));
  if (!join.valid()) throw_errno("opening the members of the cgroup " + group.string());
  joins_.push_back(std::move(join));
}

void Cgroup::set_limits(const CgroupPlaces& places, const Limits& limits) const {
  const auto set = [](const fs::path& file, const std::string& value) {
    if (const int error = write_text(file, value)) throw_errno("setting " + file.string() + " to " + value, error);
  };
  if (places.memory.present() && limits.memory_bytes) {
    const std::string bytes = std::to_string(limits.memory_bytes);
    if (places.memory.version == 1) {
      set(memory_ / "memory.limit_in_bytes", bytes);
      write_text(memory_ / "memory.memsw.limit_in_bytes", bytes);  // absent where swap is not accounted for
    } else {
      set(memory_ / "memory.max", bytes);
      write_text(memory_ / "memory.swap.max", "0");
      write_text(memory_ / "memory.oom.group", "1");
    }
  }
  if (places.pids.present() && limits.tasks) set(pids_ / "pids.max", std::to_string(limits.tasks));
}

std::vector<int> Cgroup::join_fds() const {
  std::vector<int> fds;
  for (const Fd& join : joins_) fds.push_back(join.get());
  return fds;
}

nanoseconds Cgroup::cpu_used() const {
  if (cpu_version_ == 1) return nanoseconds(static_cast<int64_t>(read_number(cpu_ / "cpuacct.usage")));
  return nanoseconds(static_cast<int64_t>(keyed_value(read_text(cpu_ / "cpu.stat"), "usage_usec") * 1000));
}

uint64_t Cgroup::memory_used() const {
  return read_number(memory_ / (memory_version_ == 1 ? "memory.usage_in_bytes" : "memory.current"));
}

uint64_t Cgroup::memory_peak() const {
  return read_number(memory_ / (memory_version_ == 1 ? "memory.max_usage_in_bytes" : "memory.peak"));
}

uint64_t Cgroup::memory_kills() const {
  if (memory_.empty()) return 0;
  return keyed_value(read_text(memory_ / (memory_version_ == 1 ? "memory.oom_control" : "memory.events")), "oom_kill");
}

uint64_t Cgroup::task_refusals() const {
  return pids_.empty() ? 0 : keyed_value(read_text(pids_ / "pids.events"), "max");
}

void Cgroup::kill_members() const {
  for (const fs::path& group : made_) {
    if (write_text(group / "cgroup.kill", "1") == 0) return;
  }
  if (made_.empty()) return;
  // A fork bomb outruns one pass.
  for (int pass = 0; pass < 100; ++pass) {
    const std::vector<std::string> members = split(read_text(made_.front() / "cgroup.procs"), '\n');
    if (members.empty()) return;
    for (const std::string& member : members) ::kill(static_cast<pid_t>(std::atoi(member.c_str())), SIGKILL);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

}  // namespace ww::sandbox
