// SPDX-License-Identifier: Apache-2.0
#include "sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/fd.h"

namespace ww::sandbox {
namespace {

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kReferSince2 = 1ull << 13;     // LANDLOCK_ACCESS_FS_REFER
constexpr uint64_t kTruncateSince3 = 1ull << 14;  // LANDLOCK_ACCESS_FS_TRUNCATE, younger than Debian 12's header
constexpr uint64_t kFileRights =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncateSince3;

/// struct landlock_ruleset_attr as of ABI 6; older kernels take a prefix.
struct RulesetAttributes {
  uint64_t files;
  uint64_t network;  // since 4; left to the network namespace and to seccomp
  uint64_t scoped;   // since 6: abstract unix sockets 1, signals 2
};

uint64_t known_rights(int abi) {
  uint64_t rights = kReferSince2 - 1;
  if (abi >= 2) rights |= kReferSince2;
  if (abi >= 3) rights |= kTruncateSince3;
  return rights;
}

int add_rule(int ruleset, const LandlockRule& rule, uint64_t known) {
  const Fd path(::open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  if (!path.valid()) return errno == ENOENT || errno == EACCES ? 0 : errno;
  struct stat facts;
  if (::fstat(path.get(), &facts) != 0) return errno;
  uint64_t rights = rule.rights == Rights::kRead ? kRead : known;
  if (!S_ISDIR(facts.st_mode)) rights &= kFileRights & known;
  const landlock_path_beneath_attr attributes = {rights, path.get()};
  return ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0) == 0 ? 0 : errno;
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? -errno : static_cast<int>(abi);
}

int restrict_files(const std::vector<LandlockRule>& rules, int abi) {
  const uint64_t known = known_rights(abi);
  const RulesetAttributes attributes = {known, 0, 1 | 2};
  const size_t size = abi >= 6 ? sizeof attributes : sizeof attributes.files;
  const Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset.valid()) return errno;
  for (const LandlockRule& rule : rules) {
    if (const int error = add_rule(ruleset.get(), rule, known)) return error;
  }
  return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0 ? 0 : errno;
}

}  // namespace ww::sandbox
