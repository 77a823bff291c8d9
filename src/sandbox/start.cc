// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fault.h"
#include "sandbox/launch.h"
#include "sandbox/process.h"

namespace ww::sandbox {
namespace {

void check(const Spec& spec, const Layers& layers) {
  WW_CHECK(!spec.argv.empty() && spec.argv[0].starts_with('/'), "a sandboxed program needs an absolute path");
  WW_CHECK(spec.work_folder.is_absolute(), "a sandboxed program needs an absolute working folder");
  for (const Scratch& scratch : spec.scratch) {
    WW_CHECK(scratch.inside.is_absolute() && scratch.bytes > 0 && scratch.files > 0, "scratch space needs its limits");
    if (!layers.mount_ns) {
      throw Fault(Fault::Kind::kMissing, "scratch space at " + scratch.inside.string() +
                                             " needs mount namespaces, which this machine refuses");
    }
  }
  for (const Mount& mount : spec.mounts) {
    WW_CHECK(mount.host.is_absolute(), "mounts need absolute host paths");
    WW_CHECK(mount.inside.empty() || mount.inside.is_absolute(), "mounts need absolute inside paths");
    if (!layers.mount_ns && !mount.inside.empty() && mount.inside != mount.host) {
      throw Fault(Fault::Kind::kMissing, "showing " + mount.host.string() + " as " + mount.inside.string() +
                                             " needs mount namespaces, which this machine refuses");
    }
  }
}

std::string_view describe(Step step) {
  switch (step) {
    case Step::kParent:
      return "following its parent";
    case Step::kCgroup:
      return "joining its cgroups";
    case Step::kSession:
      return "starting a session";
    case Step::kIdentity:
      return "taking its identity in the user namespace";
    case Step::kRoot:
      return "making its root";
    case Step::kMount:
      return "mounting";
    case Step::kWorkFolder:
      return "entering the working folder";
    case Step::kLimits:
      return "setting resource limits";
    case Step::kAffinity:
      return "setting the processor affinity";
    case Step::kDescriptors:
      return "arranging descriptors";
    case Step::kPrivileges:
      return "dropping privileges";
    case Step::kLandlock:
      return "restricting files with Landlock";
    case Step::kSeccomp:
      return "installing the system call filter";
    case Step::kExec:
      return "executing";
    case Step::kRehearsed:
      return "rehearsing";
  }
  return "";
}

[[noreturn]] void throw_report(const Spec& spec, const Launch& launch, const Report& report) {
  std::string what = "sandbox: " + std::string(describe(report.step));
  if (report.step == Step::kMount) {
    const MountStep& mount = launch.mounts[static_cast<size_t>(report.index)];
    what += " " + mount.source + " at " + mount.target;
  }
  if (report.step == Step::kWorkFolder) what += " " + spec.work_folder.string();
  if (report.step == Step::kExec) what += " " + spec.argv[0];
  what += std::string(": ") + std::strerror(report.error);
  if (report.error == EACCES) what += " (it has to be reachable for uid " + std::to_string(inside_uid()) + ")";
  const bool missing = report.error == ENOENT || report.error == EACCES;
  throw Fault(missing ? Fault::Kind::kMissing : Fault::Kind::kSystem, what, report.error);
}

/// The stdin of a program: all of it is there at once, and nobody can change it.
Fd input_file(std::string_view input) {
  Fd file(::memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid()) throw_errno("making a file for a program's input");
  while (!input.empty()) {
    const ssize_t count = ::write(file.get(), input.data(), input.size());
    if (count < 0) throw_errno("writing a program's input");
    input.remove_prefix(static_cast<size_t>(count));
  }
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  if (::lseek(file.get(), 0, SEEK_SET) != 0) throw_errno("rewinding a program's input");
  return file;
}

struct SocketPair {
  Fd ours, theirs;
};

SocketPair make_socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw_errno("making a socket pair");
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

Process start(const Spec& spec) {
  const Machine& here = machine();
  check(spec, here.layers);
  auto state = std::make_unique<Process::State>();
  state->own_pid_ns = here.layers.pid_ns;
  state->limits = spec.limits;
  state->isolation = &here.isolation;
  state->cgroup = std::make_unique<Cgroup>(here.cgroups, spec.limits);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) throw_errno("opening /dev/null");
  std::vector<HandedFd> standard = {{null.get(), 0}, {null.get(), 1}, {null.get(), 2}};
  if (spec.output == Output::kCapture) {
    state->out = Capture(spec.limits.output_bytes);
    state->err = Capture(spec.limits.output_bytes);
    standard[1].host_fd = state->out.writer();
    standard[2].host_fd = state->err.writer();
  }
  Layers layers = here.layers;
  SocketPair denials;
  if (spec.denial_fd >= 0) {
    denials = make_socket_pair();
    standard.push_back({denials.theirs.get(), spec.denial_fd});
    layers.seccomp = false;
  }
  Launch launch = prepare(spec, layers, state->cgroup.get(), std::move(standard));
  state->started = now();
  Started started = launch_child(launch);
  if (started.clone_error) throw_errno("sandbox: making a process", started.clone_error);
  if (started.report) throw_report(spec, launch, *started.report);
  state->pid = started.pid;
  state->pidfd = std::move(started.pidfd);
  state->out.close_writer();
  state->err.close_writer();
  Process process(std::move(state));
  Process::State& owned = *process.state_;
  if (spec.denial_fd >= 0) owned.denials = std::make_unique<DenialWatch>(std::move(denials.ours), owned.pidfd);
  return process;
}

Ended run(const Spec& spec, std::string_view input) {
  if (input.empty()) return start(spec).wait();
  const Fd file = input_file(input);
  Spec with_input = spec;
  with_input.descriptors.insert(with_input.descriptors.begin(), {file.get(), 0});
  return start(with_input).wait();
}

}  // namespace ww::sandbox
