// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fault.h"
#include "sandbox/namespaces.h"
#include "sandbox/signals_blocked.h"

namespace ww::sandbox {
namespace {

std::vector<char*> as_words(const std::vector<std::string>& texts) {
  std::vector<char*> words;
  for (const std::string& text : texts) words.push_back(const_cast<char*>(text.c_str()));
  words.push_back(nullptr);
  return words;
}

std::vector<ResourceLimit> resource_limits(const Limits& limits, const Cgroup* cgroup) {
  constexpr rlim_t kStack = 8u << 20;
  constexpr rlim_t kNoCore = 1;  // 0 would still hand cores to a core_pattern that is a pipe to a program of root
  std::vector<ResourceLimit> list = {
      {RLIMIT_CORE, kNoCore}, {RLIMIT_MSGQUEUE, 0}, {RLIMIT_NICE, 0}, {RLIMIT_RTPRIO, 0}, {RLIMIT_STACK, kStack}};
  if (limits.file_bytes) list.push_back({RLIMIT_FSIZE, limits.file_bytes});
  if (limits.open_files) list.push_back({RLIMIT_NOFILE, limits.open_files});
  // One second more than the limit: wait() is the one that applies it.
  if (limits.cpu.count()) list.push_back({RLIMIT_CPU, static_cast<rlim_t>(limits.cpu.count() / 1000 + 2)});
  if (limits.memory_bytes && !(cgroup && cgroup->accounts_memory())) {
    list.push_back({RLIMIT_DATA, limits.memory_bytes});
  }
  if (limits.tasks && !(cgroup && cgroup->counts_tasks())) list.push_back({RLIMIT_NPROC, limits.tasks});
  return list;
}

/// With a root of its own nothing but the listed mounts is there to be read; what may be written is said twice. Without
/// one these rules are all there is.
std::vector<LandlockRule> landlock_rules(const Spec& spec, const Layers& layers) {
  std::vector<LandlockRule> rules;
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    rules.push_back({device, Rights::kReadWrite});
  }
  if (layers.mount_ns) {
    rules.push_back({"/", Rights::kRead});
    rules.push_back({"/tmp", Rights::kReadWrite});
    rules.push_back({"/dev/shm", Rights::kReadWrite});
    for (const Scratch& scratch : spec.scratch) rules.push_back({scratch.inside.string(), Rights::kReadWrite});
  } else {
    rules.push_back({"/proc", Rights::kRead});
  }
  for (const Mount& mount : spec.mounts) {
    const fs::path& inside = mount.inside.empty() ? mount.host : mount.inside;
    rules.push_back({inside.string(), mount.access == Access::kReadWrite ? Rights::kReadWrite : Rights::kRead});
  }
  return rules;
}

std::vector<DescriptorMove> descriptor_moves(const Spec& spec, const std::vector<HandedFd>& standard) {
  std::vector<DescriptorMove> moves;
  for (const HandedFd& fd : standard) moves.push_back({fd.host_fd, fd.inside_fd, -1});
  for (const HandedFd& fd : spec.descriptors) {
    std::erase_if(moves, [&](const DescriptorMove& move) { return move.to == fd.inside_fd; });
    moves.push_back({fd.host_fd, fd.inside_fd, -1});
  }
  return moves;
}

void reap(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<Report> read_report(const Fd& status) {
  Report report;
  ssize_t count;
  while ((count = ::read(status.get(), &report, sizeof report)) < 0 && errno == EINTR) {
  }
  return count == static_cast<ssize_t>(sizeof report) ? std::optional(report) : std::nullopt;
}

}  // namespace

Launch prepare(const Spec& spec, const Layers& layers, const Cgroup* cgroup, std::vector<HandedFd> standard) {
  Launch launch;
  launch.layers = layers;
  launch.argv = as_words(spec.argv);
  launch.env = as_words(spec.env);
  launch.work_folder = spec.work_folder.c_str();
  if (layers.mount_ns) launch.mounts = plan_mounts(spec, layers);
  launch.trees.resize(launch.mounts.size());
  if (layers.landlock) {
    launch.landlock_abi = landlock_abi();
    launch.rules = landlock_rules(spec, layers);
  }
  if (layers.seccomp) launch.filter = &tools_filter();
  launch.limits = resource_limits(spec.limits, cgroup);
  if (cgroup) launch.cgroups = cgroup->join_fds();
  launch.descriptors = descriptor_moves(spec, standard);
  launch.pin = !spec.cpus.empty();
  CPU_ZERO(&launch.cpus);
  for (const int cpu : spec.cpus) CPU_SET(static_cast<size_t>(cpu), &launch.cpus);
  return launch;
}

Started launch_child(Launch& launch) {
  Pipe gate = make_pipe(), status = make_pipe();
  launch.gate = gate.read.get();
  launch.gate_writer = gate.write.get();
  launch.status = status.write.get();
  launch.status_reader = status.read.get();
  Started started;
  int pidfd = -1;
  {
    const SignalsBlocked blocked;
    started.pid = fork_into(namespace_flags(launch.layers), pidfd);
    if (started.pid == 0) run_child_sequence(launch);
  }
  if (started.pid < 0) {
    started.clone_error = -started.pid;
    return started;
  }
  started.pidfd = Fd(pidfd);
  status.write.reset();  // but not gate.read: writing to a child that was killed must not raise SIGPIPE
  const int unmapped = launch.layers.user_ns ? map_identity(started.pid) : 0;
  if (unmapped == 0) {
    [[maybe_unused]] const ssize_t ignored = ::write(gate.write.get(), "g", 1);
    started.report = read_report(status.read);
  } else {
    started.report = Report{Step::kIdentity, -1, unmapped};
  }
  gate.write.reset();
  if (started.report) reap(started.pid);
  return started;
}

}  // namespace ww::sandbox
