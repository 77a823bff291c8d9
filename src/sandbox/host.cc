// SPDX-License-Identifier: Apache-2.0
//
// What a program is lent of the host.
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/fault.h"
#include "sandbox/layers.h"
#include "sandbox/sandbox.h"

namespace ww::sandbox {
namespace {

constexpr uid_t kNobody = 65534;

void give(const fs::path& path) {
  if (::lchown(path.c_str(), kNobody, kNobody) != 0) throw_errno("lending " + path.string() + " to the sandbox");
}

}  // namespace

bool changes_identity() {
  static const bool able = [] {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    constexpr uint32_t kNeeded = 1u << CAP_SETUID | 1u << CAP_SETGID;
    return ::syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & kNeeded) == kNeeded;
  }();
  return able;
}

uid_t inside_uid() { return changes_identity() ? kNobody : ::geteuid(); }

void add_system(Spec& spec) {
  spec.mounts.push_back({"/usr"});
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib64"}) {
    std::error_code missing;
    if (fs::is_symlink(path, missing)) {
      spec.links.push_back({path, fs::read_symlink(path).string()});
    } else {
      spec.mounts.push_back({path, {}, Access::kReadOnly, true});
    }
  }
  for (const char* path : {"/etc/ld.so.cache", "/etc/alternatives", "/sys/devices/system/cpu"}) {
    spec.mounts.push_back({path, {}, Access::kReadOnly, true});
  }
}

void lend(const fs::path& folder) {
  if (!changes_identity()) return;
  give(folder);
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (error) break;
    give(entry->path());
  }
  if (error) throw_errno("lending " + folder.string() + " to the sandbox", error.value());
}

}  // namespace ww::sandbox
