// SPDX-License-Identifier: Apache-2.0
#include "sandbox/isolation.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "base/fault.h"
#include "sandbox/launch.h"
#include "sandbox/namespaces.h"

namespace ww::sandbox {
namespace {

/// Runs the start sequence again and again, leaving out what fails, until it succeeds.
class Rehearsal {
 public:
  Machine run() {
    machine_.cgroups = usable_cgroups();
    const int abi = landlock_abi();
    layers_.user_ns = !changes_identity();
    layers_.landlock = abi > 0;
    if (!layers_.landlock) reasons_["landlock"] = std::strerror(-abi);
    constexpr int kMostAttempts = 16;  // each leaves out at least one layer
    for (int attempt = 0; attempt < kMostAttempts && !try_once(); ++attempt) {
    }
    machine_.layers = layers_;
    machine_.isolation = describe(abi);
    return machine_;
  }

 private:
  bool try_once() {
    Spec spec;
    spec.argv = {"/"};
    std::unique_ptr<Cgroup> cgroup;
    try {
      cgroup = std::make_unique<Cgroup>(machine_.cgroups, spec.limits);
    } catch (const Fault& fault) {
      leave_out_cgroups(fault.what());
      return false;
    }
    Launch launch = prepare(spec, layers_, cgroup.get(), {});
    launch.rehearse = true;
    const Started started = launch_child(launch);
    if (started.clone_error) {
      leave_out_namespaces(started.clone_error);
      return false;
    }
    if (!started.report) {
      collect(started.pid);
      leave_out_the_next("the rehearsal was killed");
      return false;
    }
    if (started.report->step == Step::kRehearsed) return true;
    leave_out(launch, *started.report);
    return false;
  }

  void leave_out_cgroups(const std::string& reason) {
    for (CgroupPlace* place : {&machine_.cgroups.memory, &machine_.cgroups.pids, &machine_.cgroups.cpu}) {
      if (place->present()) *place = {{}, 0, reason};
    }
  }

  void leave_out_all_namespaces(const std::string& reason) {
    layers_.user_ns = layers_.mount_ns = layers_.pid_ns = layers_.net_ns = layers_.ipc_ns = layers_.own_proc = false;
    layers_.uid_drop = layers_.uid_drop && changes_identity();
    for (const char* layer : {"user_ns", "mount_ns", "pid_ns", "net_ns", "own_proc"}) reasons_[layer] = reason;
    if (!layers_.uid_drop) reasons_["uid_drop"] = reason;
  }

  /// Where nothing says which step was at fault.
  void leave_out_the_next(const std::string& reason) {
    if (namespace_flags(layers_) != 0) return leave_out_all_namespaces(reason);
    bool& last = layers_.seccomp ? layers_.seccomp : layers_.landlock;
    reasons_[layers_.seccomp ? "seccomp" : "landlock"] = reason;
    last = false;
  }

  void leave_out_namespaces(int error) {
    const std::string reason = std::string("refused: ") + std::strerror(error);
    if (!layers_.user_ns && changes_identity()) {
      layers_.user_ns = true;  // a root without CAP_SYS_ADMIN, as in a container
      return;
    }
    const unsigned long user = layers_.user_ns ? CLONE_NEWUSER : 0;
    if (!can_fork(user)) return leave_out_all_namespaces(reason);
    bool changed = false;
    const auto keep = [&](bool& layer, const char* layer_name, unsigned long flag) {
      if (!layer || can_fork(user | flag)) return;
      layer = false;
      changed = true;
      reasons_[layer_name] = reason;
    };
    keep(layers_.mount_ns, "mount_ns", CLONE_NEWNS);
    keep(layers_.pid_ns, "pid_ns", CLONE_NEWPID);
    keep(layers_.net_ns, "net_ns", CLONE_NEWNET);
    keep(layers_.ipc_ns, "ipc_ns", CLONE_NEWIPC | CLONE_NEWUTS);
    if (!changed) return leave_out_all_namespaces(reason);
    leave_out_proc("needs mount_ns and pid_ns");
  }

  void leave_out_proc(const std::string& reason) {
    if (layers_.mount_ns && layers_.pid_ns) return;
    layers_.own_proc = false;
    reasons_["own_proc"] = reason;
  }

  static void collect(pid_t child) {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  static bool can_fork(unsigned long flags) {
    int pidfd = -1;
    const pid_t child = fork_into(flags, pidfd);
    if (child == 0) ::_exit(0);
    if (child < 0) return false;
    const Fd owned(pidfd);
    collect(child);
    return true;
  }

  void leave_out(const Launch& launch, const Report& report) {
    const std::string reason = std::string("refused: ") + std::strerror(report.error);
    switch (report.step) {
      case Step::kCgroup:
        return leave_out_cgroups("joining is " + reason);
      case Step::kSession:
        layers_.ipc_ns = false;
        return;
      case Step::kIdentity:
        return leave_out_all_namespaces("the identity map is " + reason);
      case Step::kMount:
        if (launch.mounts[static_cast<size_t>(report.index)].kind == MountStep::Kind::kProc) {
          layers_.own_proc = false;
          reasons_["own_proc"] = reason;
          return;
        }
        [[fallthrough]];
      case Step::kRoot:
        layers_.mount_ns = false;
        reasons_["mount_ns"] = reason;
        return leave_out_proc("needs mount_ns");
      case Step::kPrivileges:
        layers_.uid_drop = false;
        reasons_["uid_drop"] = reason;
        return;
      case Step::kLandlock:
        layers_.landlock = false;
        reasons_["landlock"] = reason;
        return;
      case Step::kSeccomp:
        layers_.seccomp = false;
        reasons_["seccomp"] = reason;
        return;
      default:
        // Nothing of these can be left out; start() will say the same with its own words.
        return;
    }
  }

  Isolation describe(int abi) const {
    Isolation isolation;
    const auto add = [&](const char* layer, bool present, std::string detail) {
      const auto reason = reasons_.find(layer);
      if (!present && reason != reasons_.end()) detail = reason->second;
      isolation.layers.push_back({layer, present, detail});
    };
    const auto add_cgroup = [&](const char* layer, const CgroupPlace& place) {
      const std::string version = "cgroup v" + std::to_string(place.version) + " below " + place.folder.string();
      isolation.layers.push_back({layer, place.present(), place.present() ? version : place.missing});
    };
    add("user_ns", layers_.user_ns, layers_.user_ns ? "" : "not needed: root gives up its privileges instead");
    add("mount_ns", layers_.mount_ns, "a root that holds only what is listed");
    add("pid_ns", layers_.pid_ns, "");
    add("net_ns", layers_.net_ns, "no network");
    add("own_proc", layers_.own_proc, "read-only");
    add("uid_drop", layers_.uid_drop,
        (layers_.user_ns ? "without privileges in a user namespace, as uid " : "to uid ") +
            std::to_string(inside_uid()));
    add_cgroup("cgroup_memory", machine_.cgroups.memory);
    add_cgroup("cgroup_pids", machine_.cgroups.pids);
    add_cgroup("cgroup_cpu", machine_.cgroups.cpu);
    add("landlock", layers_.landlock, "ABI " + std::to_string(abi));
    add("seccomp", layers_.seccomp, "");
    return isolation;
  }

  Machine machine_;
  Layers layers_;
  std::map<std::string, std::string> reasons_;
};

}  // namespace

const Machine& machine() {
  static const Machine found = Rehearsal().run();
  return found;
}

const Isolation& probe() { return machine().isolation; }

bool Isolation::has(std::string_view name) const {
  return std::any_of(layers.begin(), layers.end(),
                     [&](const Layer& layer) { return layer.name == name && layer.present; });
}

std::string_view Isolation::summary() const {
  const bool all = std::all_of(layers.begin(), layers.end(),
                               [](const Layer& layer) { return layer.present || layer.name == "user_ns"; });
  if (all) return "full";
  return has("mount_ns") || has("landlock") || has("seccomp") ? "partial" : "none";
}

std::string Isolation::text() const {
  std::string text;
  for (const Layer& layer : layers) {
    std::string line = layer.name;
    line.resize(std::max<size_t>(line.size() + 1, 15), ' ');
    line += layer.present ? "yes" : layer.name == "user_ns" && has("uid_drop") ? "unused" : "MISSING";
    if (!layer.detail.empty()) line += "  " + layer.detail;
    text += line + "\n";
  }
  return text;
}

}  // namespace ww::sandbox
