// SPDX-License-Identifier: Apache-2.0
#include "sandbox/mounts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace ww::sandbox {
namespace {

using Kind = MountStep::Kind;

constexpr char kAttachPoint[] = "/tmp";  // exists everywhere; covered in the child's own mount namespace only

std::string scratch_options(uint64_t bytes, uint32_t files) {
  return "mode=1777,size=" + std::to_string(bytes) + ",nr_inodes=" + std::to_string(files);
}

/// As /tmp, but of the one user inside.
std::string scratch_options(const Scratch& scratch) {
  const std::string uid = std::to_string(inside_uid());
  const std::string gid = std::to_string(changes_identity() ? inside_uid() : ::getegid());
  return "mode=0755,uid=" + uid + ",gid=" + gid + ",size=" + std::to_string(scratch.bytes) +
         ",nr_inodes=" + std::to_string(scratch.files);
}

void plan_devices(std::vector<MountStep>& plan) {
  for (const char* name : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    plan.push_back({Kind::kBind, name, name, Access::kReadWrite, false, true});
  }
  plan.push_back({Kind::kLink, "/proc/self/fd", "/dev/fd"});
  plan.push_back({Kind::kLink, "/proc/self/fd/0", "/dev/stdin"});
  plan.push_back({Kind::kLink, "/proc/self/fd/1", "/dev/stdout"});
  plan.push_back({Kind::kLink, "/proc/self/fd/2", "/dev/stderr"});
}

void plan_identity(std::vector<MountStep>& plan) {
  const std::string uid = std::to_string(inside_uid());
  const std::string gid = std::to_string(changes_identity() ? inside_uid() : ::getegid());
  plan.push_back({Kind::kText, "sandbox:x:" + uid + ":" + gid + "::/tmp:/bin/sh\n", "/etc/passwd"});
  plan.push_back({Kind::kText, "sandbox:x:" + gid + ":\n", "/etc/group"});
}

/// Opens (and makes, where it is missing) the folder that holds the last component of `path`, under `root`. The last
/// component is left in `name`. Returns a descriptor or -errno.
int open_parent(int root, const char* path, char (&name)[256]) {
  int folder = ::fcntl(root, F_DUPFD_CLOEXEC, 0);
  if (folder < 0) return -errno;
  while (true) {
    while (*path == '/') ++path;
    const char* end = strchrnul(path, '/');
    const size_t size = static_cast<size_t>(end - path);
    if (size == 0 || size >= sizeof name) return ::close(folder), -EINVAL;
    memcpy(name, path, size);
    name[size] = 0;
    if (strcmp(name, "..") == 0 || strcmp(name, ".") == 0) return ::close(folder), -EINVAL;
    while (*end == '/') ++end;
    if (*end == 0) return folder;
    if (::mkdirat(folder, name, 0755) != 0 && errno != EEXIST) {
      const int error = errno;
      return ::close(folder), -error;
    }
    const int next = ::openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int error = errno;
    ::close(folder);
    if (next < 0) return -error;
    folder = next;
    path = end;
  }
}

/// A folder or an empty file at `name`. Returns a descriptor of it or -errno.
int make_target(int parent, const char* name, bool is_folder) {
  if (is_folder) {
    if (::mkdirat(parent, name, 0755) != 0 && errno != EEXIST) return -errno;
  } else {
    const int file = ::openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0 && errno != EEXIST) return -errno;
    if (file >= 0) ::close(file);
  }
  const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (is_folder ? O_DIRECTORY : 0);
  const int target = ::openat(parent, name, flags);
  return target < 0 ? -errno : target;
}

/// Clones a host tree, not attached anywhere yet. Returns a descriptor or -errno.
int clone_tree(const MountStep& step) {
  const int tree = ::open_tree(AT_FDCWD, step.source.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  if (tree < 0) return -errno;
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_NOSUID;
  if (!step.device) attributes.attr_set |= MOUNT_ATTR_NODEV;
  if (step.access == Access::kReadOnly) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  if (::mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) != 0) {
    const int error = errno;
    return ::close(tree), -error;
  }
  return tree;
}

int attach_tree(int parent, const char* name, int tree) {
  struct stat facts;
  if (::fstat(tree, &facts) != 0) return errno;
  const int target = make_target(parent, name, S_ISDIR(facts.st_mode));
  if (target < 0) return -target;
  const int failed = ::move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
  const int error = failed ? errno : 0;
  ::close(target);
  return error;
}

/// A new filesystem on a folder at `name`; the working folder serves as the path to it.
int attach_new(int parent, const char* name, const char* type, unsigned long flags, const char* options) {
  const int target = make_target(parent, name, true);
  if (target < 0) return -target;
  int error = ::fchdir(target) == 0 ? 0 : errno;
  ::close(target);
  if (error == 0 && ::mount(type, ".", type, flags, options) != 0) error = errno;
  return error;
}

int write_text(int parent, const char* name, const std::string& text) {
  const int file = ::openat(parent, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  const int error = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : EIO;
  ::close(file);
  return error;
}

int carry_out(const MountStep& step, int root, int tree) {
  char name[256];
  const int parent = open_parent(root, step.target.c_str(), name);
  if (parent < 0) return -parent;
  int error = 0;
  switch (step.kind) {
    case Kind::kFolder: {
      const int target = make_target(parent, name, true);
      error = target < 0 ? -target : 0;
      if (target >= 0) ::close(target);
      break;
    }
    case Kind::kText:
      error = write_text(parent, name, step.source);
      break;
    case Kind::kLink:
      error = ::symlinkat(step.source.c_str(), parent, name) == 0 ? 0 : errno;
      break;
    case Kind::kBind:
      error = attach_tree(parent, name, tree);
      break;
    case Kind::kScratch:
      error = attach_new(parent, name, "tmpfs", MS_NOSUID | MS_NODEV, step.source.c_str());
      break;
    case Kind::kProc:
      error = attach_new(parent, name, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, nullptr);
      break;
  }
  ::close(parent);
  return error;
}

/// Makes the new root the only one and seals it.
int enter_root(int root) {
  if (::fchdir(root) != 0) return errno;
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno;  // the old root lies on top of the new one now
  if (::umount2(".", MNT_DETACH) != 0) return errno;
  if (::chdir("/") != 0) return errno;
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  return ::mount_setattr(AT_FDCWD, "/", 0, &attributes, sizeof attributes) == 0 ? 0 : errno;
}

}  // namespace

std::vector<MountStep> plan_mounts(const Spec& spec, const Layers& layers) {
  std::vector<MountStep> plan;
  plan_devices(plan);
  plan_identity(plan);
  for (const char* folder : {"/tmp", "/dev/shm"}) {
    if (spec.limits.scratch_bytes == 0) {
      plan.push_back({Kind::kFolder, "", folder});
    } else {
      plan.push_back({Kind::kScratch, scratch_options(spec.limits.scratch_bytes, spec.limits.scratch_files), folder});
    }
  }
  for (const Scratch& scratch : spec.scratch) {
    plan.push_back({Kind::kScratch, scratch_options(scratch), scratch.inside.string()});
  }
  plan.push_back({layers.own_proc ? Kind::kProc : Kind::kFolder, "", "/proc"});
  for (const Link& link : spec.links) plan.push_back({Kind::kLink, link.target, link.inside.string()});
  for (const Mount& mount : spec.mounts) {
    const fs::path& inside = mount.inside.empty() ? mount.host : mount.inside;
    plan.push_back({Kind::kBind, mount.host.string(), inside.string(), mount.access, mount.optional});
  }
  return plan;
}

MountFailure build_root(const std::vector<MountStep>& plan, std::vector<int>& trees) {
  if (::mount(nullptr, "/", nullptr, MS_PRIVATE | MS_REC, nullptr) != 0) return {-1, errno};
  for (size_t i = 0; i < plan.size(); ++i) {
    trees[i] = -1;
    if (plan[i].kind != Kind::kBind) continue;
    const int tree = clone_tree(plan[i]);
    if (tree < 0 && !(plan[i].optional && tree == -ENOENT)) return {static_cast<int>(i), -tree};
    trees[i] = tree < 0 ? -1 : tree;
  }
  if (::mount("tmpfs", kAttachPoint, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=4096") != 0)
    return {-1, errno};
  const int root = ::open(kAttachPoint, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return {-1, errno};
  for (size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].kind == Kind::kBind && trees[i] < 0) continue;
    if (const int error = carry_out(plan[i], root, trees[i])) return {static_cast<int>(i), error};
    if (trees[i] >= 0) ::close(trees[i]);
  }
  const int error = enter_root(root);
  ::close(root);
  return {-1, error};
}

}  // namespace ww::sandbox
