// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child_sequence.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/namespaces.h"

namespace ww::sandbox {
namespace {

/// Reaching out of the process that ends with it.
struct Reporter {
  int status;

  [[noreturn]] void fail(Step step, int error, int index = -1) const {
    const Report report{step, index, error};
    // Nothing can be done where the parent does not listen.
    [[maybe_unused]] const ssize_t ignored = ::write(status, &report, sizeof report);
    ::_exit(127);
  }
  void check(Step step, int error) const {
    if (error != 0) fail(step, error);
  }
};

int wait_for_go(const Launch& launch) {
  ::close(launch.gate_writer);
  ::close(launch.status_reader);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return errno;
  char go = 0;
  ssize_t count;
  while ((count = ::read(launch.gate, &go, 1)) < 0 && errno == EINTR) {
  }
  return count == 1 ? 0 : ECANCELED;
}

/// A change of identity cleared the signal; the parent may have died meanwhile.
int renew_parent_death(int status) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return errno;
  pollfd reader = {status, 0, 0};
  if (::poll(&reader, 1, 0) < 0) return errno;
  return (reader.revents & POLLERR) ? ECANCELED : 0;
}

int join_cgroups(const std::vector<int>& groups) {
  for (const int group : groups) {
    if (::write(group, "0", 1) != 1) return errno;
  }
  return 0;
}

int set_limits(const std::vector<ResourceLimit>& limits) {
  for (const ResourceLimit& limit : limits) {
    rlimit present;
    if (::getrlimit(static_cast<__rlimit_resource>(limit.resource), &present) != 0) return errno;
    const rlim_t value = limit.value < present.rlim_max ? limit.value : present.rlim_max;
    const rlimit wanted = {value, value};
    if (::setrlimit(static_cast<__rlimit_resource>(limit.resource), &wanted) != 0) return errno;
  }
  return 0;
}

/// Everything is parked above the numbers that are wanted, then put in its place; the rest closes on exec. Moves the
/// status pipe too.
int place_descriptors(std::vector<DescriptorMove>& moves, int& status) {
  int above = 3;
  for (const DescriptorMove& move : moves) above = move.to >= above ? move.to + 1 : above;
  for (DescriptorMove& move : moves) {
    move.parked = ::fcntl(move.from, F_DUPFD_CLOEXEC, above);
    if (move.parked < 0) return errno;
  }
  const int moved = ::fcntl(status, F_DUPFD_CLOEXEC, above);
  if (moved < 0) return errno;
  status = moved;
  if (::syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_CLOEXEC) != 0) return errno;
  for (const DescriptorMove& move : moves) {
    if (::dup2(move.parked, move.to) < 0) return errno;
  }
  return 0;
}

/// exec keeps ignored signals ignored and blocked ones blocked.
void reset_signals() {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void enter_root(Launch& launch, const Reporter& reporter) {
  if (launch.layers.user_ns && launch.layers.uid_drop && changes_identity()) {
    reporter.check(Step::kIdentity, enter_identity());
  }
  if (launch.layers.mount_ns) {
    const MountFailure failure = build_root(launch.mounts, launch.trees);
    if (failure.error) reporter.fail(failure.step < 0 ? Step::kRoot : Step::kMount, failure.error, failure.step);
  }
  if (!launch.rehearse && ::chdir(launch.work_folder) != 0) reporter.fail(Step::kWorkFolder, errno);
}

}  // namespace

void run_child_sequence(Launch& launch) {
  Reporter reporter{launch.status};
  reporter.check(Step::kParent, wait_for_go(launch));
  reporter.check(Step::kCgroup, join_cgroups(launch.cgroups));
  reporter.check(Step::kSession, leave_session(launch.layers));
  ::umask(022);
  enter_root(launch, reporter);
  if (launch.pin && ::sched_setaffinity(0, sizeof launch.cpus, &launch.cpus) != 0) {
    reporter.fail(Step::kAffinity, errno);
  }
  reporter.check(Step::kDescriptors, place_descriptors(launch.descriptors, reporter.status));
  reporter.check(Step::kLimits, set_limits(launch.limits));
  reporter.check(Step::kPrivileges, drop_privileges(launch.layers));
  reporter.check(Step::kParent, renew_parent_death(reporter.status));
  if (launch.layers.landlock) reporter.check(Step::kLandlock, restrict_files(launch.rules, launch.landlock_abi));
  reset_signals();
  if (launch.layers.seccomp) reporter.check(Step::kSeccomp, install_filter(*launch.filter));
  if (launch.rehearse) reporter.fail(Step::kRehearsed, 0);
  ::execve(launch.argv[0], launch.argv.data(), launch.env.data());
  reporter.fail(Step::kExec, errno);
}

}  // namespace ww::sandbox
