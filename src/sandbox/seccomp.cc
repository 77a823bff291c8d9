// SPDX-License-Identifier: Apache-2.0
#include "sandbox/seccomp.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "base/fault.h"
#include "base/fd.h"
#include "sandbox/syscall_lists.h"

namespace ww::sandbox {
namespace {

constexpr uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr uint64_t kLow32 = 0xffffffffu;

/// Builds one filter. Conditions on one call are alternatives; arguments of type int are compared in their lower half,
/// which is what the kernel looks at.
class FilterBuilder {
 public:
  explicit FilterBuilder(uint32_t default_action) : context_(::seccomp_init(default_action)) {
    if (!context_) throw Fault(Fault::Kind::kSystem, "libseccomp cannot make a filter");
    check(::seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), "the foreign ABI action");
    check(::seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2), "the search tree");
  }
  FilterBuilder(const FilterBuilder&) = delete;
  FilterBuilder& operator=(const FilterBuilder&) = delete;
  ~FilterBuilder() { ::seccomp_release(context_); }

  template <class... Conditions>
  void rule(uint32_t action, const char* name, Conditions... conditions) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR || number < 0) return;  // unknown to this libseccomp: the default applies
    rule(action, number, conditions...);
  }
  template <class... Conditions>
  void rule(uint32_t action, int number, Conditions... conditions) {
    const scmp_arg_cmp list[] = {conditions..., scmp_arg_cmp{}};
    check(::seccomp_rule_add_array(context_, action, number, sizeof...(conditions), list), syscall_name(number));
  }
  void rules(uint32_t action, const SyscallList& names) {
    for (const char* name : names) rule(action, name);
  }

  Filter compile() const {
    const Fd file(::memfd_create("filter", MFD_CLOEXEC));
    if (!file.valid()) throw_errno("making a filter's file");
    check(::seccomp_export_bpf(context_, file.get()), "compiling");
    const off_t size = ::lseek(file.get(), 0, SEEK_END);
    Filter filter(static_cast<size_t>(size) / sizeof(sock_filter));
    if (::pread(file.get(), filter.data(), static_cast<size_t>(size), 0) != size) throw_errno("reading a filter");
    return filter;
  }

 private:
  static void check(int result, const std::string& what) {
    if (result < 0) throw_errno("libseccomp: " + what, -result);
  }

  scmp_filter_ctx context_;
};

scmp_arg_cmp low_bits(unsigned argument, uint64_t mask, uint64_t value) {
  return SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, mask, value);
}

scmp_arg_cmp equal_int(unsigned argument, uint64_t value) { return low_bits(argument, kLow32, value & kLow32); }

/// Allows a call unless the lower half of an argument is one of `values`; the kernel looks at no more, and libseccomp
/// has no "unequal" for halves. So whatever leaves the tree of their bits is allowed, one rule for each way to leave
/// it.
void allow_unless(FilterBuilder& filter, const char* call, unsigned argument, const std::set<uint64_t>& values) {
  std::set<std::pair<uint64_t, uint64_t>> leaves;  // mask and value
  for (const uint64_t value : values) {
    for (uint64_t bit = 1; bit <= kLow32; bit <<= 1) {
      const uint64_t mask = kLow32 & ~(bit - 1), branch = (value ^ bit) & mask;
      const bool forbidden =
          std::any_of(values.begin(), values.end(), [&](uint64_t v) { return (v & mask) == branch; });
      if (!forbidden) leaves.insert({mask, branch});
    }
  }
  for (const auto& [mask, branch] : leaves) filter.rule(SCMP_ACT_ALLOW, call, low_bits(argument, mask, branch));
}

/// A process that could clear its parent-death signal would outlive us: that is pretended.
void add_tools_prctl(FilterBuilder& filter) {
  filter.rule(SCMP_ACT_ERRNO(0), "prctl", equal_int(0, PR_SET_PDEATHSIG));
  allow_unless(filter, "prctl", 0, {PR_SET_PDEATHSIG});
}

/// Typing into a terminal that was handed over would be a command to whoever reads from it outside.
void add_tools_ioctl(FilterBuilder& filter) {
  const std::set<uint64_t> typing = {TIOCSTI, TIOCLINUX};
  for (const uint64_t request : typing) filter.rule(SCMP_ACT_ERRNO(EPERM), "ioctl", equal_int(1, request));
  allow_unless(filter, "ioctl", 1, typing);
}

Filter build_tools_filter() {
  FilterBuilder filter(SCMP_ACT_ERRNO(ENOSYS));
  const SyscallList& denied = denied_to_tools();
  constexpr int kYoungest = 462;  // numbers beyond fail with ENOSYS, as on a kernel that lacks them
  for (int number = 0; number <= kYoungest; ++number) {
    const std::string name = syscall_name(number);
    if (name.empty()) continue;
    bool special = name == "clone3";  // flags lie in memory, where no filter can look: ENOSYS makes libc use clone
    for (const char* other : denied) special = special || name == other;
    for (const char* other : conditional_for_tools()) special = special || name == other;
    if (!special) filter.rule(SCMP_ACT_ALLOW, number);
  }
  filter.rules(SCMP_ACT_ERRNO(EPERM), denied);
  filter.rule(SCMP_ACT_ALLOW, "clone", low_bits(0, kNamespaces, 0));
  for (uint64_t flag = 1; flag <= kLow32; flag <<= 1) {
    if (flag & kNamespaces) filter.rule(SCMP_ACT_ERRNO(EPERM), "clone", low_bits(0, flag, flag));
  }
  for (const char* call : {"socket", "socketpair"}) {
    filter.rule(SCMP_ACT_ALLOW, call, SCMP_CMP64(0, SCMP_CMP_EQ, AF_UNIX));
    filter.rule(SCMP_ACT_ERRNO(EAFNOSUPPORT), call, SCMP_CMP64(0, SCMP_CMP_NE, AF_UNIX));
  }
  filter.rule(SCMP_ACT_ALLOW, "personality", equal_int(0, kLow32));
  filter.rule(SCMP_ACT_ERRNO(EPERM), "personality", SCMP_CMP64(0, SCMP_CMP_NE, kLow32));
  add_tools_prctl(filter);
  add_tools_ioctl(filter);
  return filter.compile();
}

/// Reading only.
void add_runner_open(FilterBuilder& filter, const char* name, unsigned flags_argument) {
  constexpr uint64_t kMakes = O_CREAT | O_TRUNC;
  filter.rule(SCMP_ACT_ALLOW, name, low_bits(flags_argument, O_ACCMODE | kMakes, O_RDONLY));
  for (const uint64_t mode : {O_WRONLY, O_RDWR, O_ACCMODE}) {
    filter.rule(SCMP_ACT_ERRNO(EROFS), name, low_bits(flags_argument, O_ACCMODE, mode));
  }
  filter.rule(SCMP_ACT_ERRNO(EROFS), name, low_bits(flags_argument, O_CREAT, O_CREAT));
  filter.rule(SCMP_ACT_ERRNO(EROFS), name, low_bits(flags_argument, O_TRUNC, O_TRUNC));
}

/// Calls whose arguments decide.
void add_runner_conditions(FilterBuilder& filter, uint64_t self, uint32_t fatal) {
  constexpr uint64_t kThread = CLONE_VM | CLONE_THREAD;
  filter.rule(SCMP_ACT_ALLOW, "clone", low_bits(0, kThread | kNamespaces, kThread));
  filter.rule(fatal, "clone", low_bits(0, CLONE_THREAD, 0));
  add_runner_open(filter, "open", 1);
  add_runner_open(filter, "openat", 2);
  filter.rule(SCMP_ACT_ALLOW, "prlimit64", equal_int(0, 0), SCMP_CMP64(2, SCMP_CMP_EQ, 0));
  filter.rule(SCMP_ACT_ALLOW, "prlimit64", equal_int(0, self), SCMP_CMP64(2, SCMP_CMP_EQ, 0));
  filter.rule(SCMP_ACT_ALLOW, "personality", equal_int(0, 0xffffffff));
  for (const int command : fcntl_commands_of_runner()) {
    filter.rule(SCMP_ACT_ALLOW, "fcntl", equal_int(1, static_cast<uint64_t>(command)));
  }
  for (const int option : prctl_options_of_runner()) {
    filter.rule(SCMP_ACT_ALLOW, "prctl", equal_int(0, static_cast<uint64_t>(option)));
  }
  for (const unsigned long request : ioctl_requests_of_runner()) {
    filter.rule(SCMP_ACT_ALLOW, "ioctl", equal_int(1, request));
  }
}

/// Signals to itself only, and never one that stops it: being stopped is the judge's affair.
void add_runner_signals(FilterBuilder& filter, uint64_t self, uint32_t fatal) {
  for (const uint64_t signal : {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 32, 33}) {
    filter.rule(SCMP_ACT_ALLOW, "kill", equal_int(0, self), equal_int(1, signal));
    filter.rule(SCMP_ACT_ALLOW, "tgkill", equal_int(0, self), equal_int(2, signal));
  }
  filter.rule(fatal, "kill", SCMP_CMP64(0, SCMP_CMP_NE, self));
  filter.rule(fatal, "tgkill", SCMP_CMP64(0, SCMP_CMP_NE, self));
}

long install(const Filter& filter, unsigned more_flags) {
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
  // SPEC_ALLOW: before Linux 5.16 a filter would otherwise slow down the code that is being timed.
  const unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW | more_flags;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

}  // namespace

const Filter& tools_filter() {
  static const Filter filter = build_tools_filter();
  return filter;
}

Filter native_runner_filter(int self, OnFatal on_fatal) {
  const uint32_t fatal = on_fatal == OnFatal::kKill ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_NOTIFY;
  FilterBuilder filter(SCMP_ACT_ERRNO(ENOSYS));
  filter.rules(SCMP_ACT_ALLOW, allowed_to_runner());
  filter.rules(SCMP_ACT_ERRNO(EPERM), refused_to_runner());
  filter.rules(fatal, fatal_to_runner());
  add_runner_conditions(filter, static_cast<uint64_t>(self), fatal);
  add_runner_signals(filter, static_cast<uint64_t>(self), fatal);
  return filter.compile();
}

int install_filter(const Filter& filter) {
  const long result = install(filter, 0);
  if (result < 0) return errno;
  return result == 0 ? 0 : EBUSY;  // the id of a thread that could not be synchronised
}

int install_notifying_filter(const Filter& filter) {
  const long listener = install(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC_ESRCH);
  return listener < 0 ? -errno : static_cast<int>(listener);
}

std::string syscall_name(int number) {
  char* text = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  std::string name = text ? text : "";
  std::free(text);
  return name;
}

}  // namespace ww::sandbox
