// SPDX-License-Identifier: Apache-2.0
//
// What a program is lent of the host.
#include <grp.h>
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

bool started_by_root() {
  static const bool root = ::geteuid() == 0;
  return root;
}

uid_t inside_uid() { return started_by_root() ? kNobody : ::geteuid(); }

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
  if (!started_by_root()) return;
  give(folder);
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (error) break;
    give(entry->path());
  }
  if (error) throw_errno("lending " + folder.string() + " to the sandbox", error.value());
}

}  // namespace ww::sandbox
