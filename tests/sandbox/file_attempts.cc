// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "attempts.h"

extern char** environ;

namespace ww::sandbox::attempts {
namespace {

using Arguments = std::vector<std::string>;

bool can_read(const char* path) {
  const int fd = ::open(path, O_RDONLY);
  char byte;
  return fd >= 0 && ::read(fd, &byte, 1) == 1;
}

bool can_write(const char* path) {
  const int fd = ::open(path, O_WRONLY | O_CREAT, 0644);
  return fd >= 0 && ::write(fd, "x", 1) == 1;
}

bool read_file(const Arguments& arguments) { return can_read(arguments[0].c_str()); }
bool write_file(const Arguments& arguments) { return can_write(arguments[0].c_str()); }

/// A link in a folder that may be written, to a file that may not be read.
bool read_through_link(const Arguments& arguments) {
  const std::string link = arguments[0] + "/link";
  return ::symlink(arguments[1].c_str(), link.c_str()) == 0 && can_read(link.c_str());
}

bool read_through_proc(const Arguments& arguments) {
  for (const char* root :
       {"/proc/1/root", "/proc/self/root", "/proc/1/cwd/../../../../../..", "/proc/self/root/../.."}) {
    if (can_read((root + arguments[0]).c_str())) return true;
  }
  return false;
}

bool climb_out(const Arguments& arguments) {
  std::string path;
  for (int i = 0; i < 40; ++i) path += "../";
  return can_read((path + arguments[0].substr(1)).c_str());
}

bool remount_writable(const Arguments& arguments) {
  ::mount(nullptr, arguments[0].c_str(), nullptr, MS_REMOUNT | MS_BIND, nullptr);
  return can_write((arguments[0] + "/written").c_str());
}

bool mount_something(const Arguments&) {
  return ::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) == 0 || ::mount("proc", "/tmp", "proc", 0, nullptr) == 0 ||
         ::syscall(SYS_fsopen, "tmpfs", 0) >= 0;
}

bool break_chroot(const Arguments& arguments) {
  ::mkdir("/tmp/jail", 0755);
  if (::chroot("/tmp/jail") != 0) return false;
  for (int i = 0; i < 40; ++i) {
    if (::chdir("..") != 0) return false;
  }
  return ::chroot(".") == 0 && can_read(arguments[0].c_str());
}

bool open_disk(const Arguments&) {
  const dev_t disk = makedev(254, 0), memory = makedev(1, 1);
  return ::mknod("/tmp/disk", S_IFBLK | 0666, disk) == 0 || ::mknod("/tmp/mem", S_IFCHR | 0666, memory) == 0 ||
         can_read("/dev/mem") || can_read("/dev/kmsg") || can_read("/proc/kcore") || can_read("/dev/vda");
}

bool write_kernel_settings(const Arguments&) {
  return can_write("/proc/sys/kernel/core_pattern") || can_write("/proc/sysrq-trigger") ||
         can_write("/proc/self/oom_score_adj") || can_write("/sys/devices/system/cpu/cpu1/online") ||
         can_write("/sys/fs/cgroup/memory/cgroup.procs");
}

bool write_own_memory_file(const Arguments&) {
  const int fd = ::open("/proc/self/mem", O_RDWR);
  return fd >= 0;
}

/// Any descriptor beyond the standard three and the one that lists them.
bool find_descriptor(const Arguments&) {
  for (int fd = 3; fd < 1000; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) return true;
  }
  return false;
}

bool find_environment(const Arguments&) { return environ[0] != nullptr; }

}  // namespace

const std::vector<Attempt>& file_attempts() {
  static const std::vector<Attempt> list = {{"read_file", read_file},
                                            {"write_file", write_file},
                                            {"read_through_link", read_through_link},
                                            {"read_through_proc", read_through_proc},
                                            {"climb_out", climb_out},
                                            {"remount_writable", remount_writable},
                                            {"mount_something", mount_something},
                                            {"break_chroot", break_chroot},
                                            {"open_disk", open_disk},
                                            {"write_kernel_settings", write_kernel_settings},
                                            {"write_own_memory_file", write_own_memory_file},
                                            {"find_descriptor", find_descriptor},
                                            {"find_environment", find_environment}};
  return list;
}

}  // namespace ww::sandbox::attempts
