// SPDX-License-Identifier: Apache-2.0
#include "../probe.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

extern char** environ;

namespace {

bool can_list(const char* folder) {
  DIR* open_folder = opendir(folder);
  int entries = 0;
  while (open_folder && readdir(open_folder)) ++entries;
  if (open_folder) closedir(open_folder);
  return entries > 0;
}

/// What the runner put into the environment of its own process.
bool holds_token(const char* path) {
  static char text[1 << 16];
  const int fd = open(path, O_RDONLY);
  const ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text);
  return count > 0 && memmem(text, static_cast<size_t>(count), "WW_HOST_TOKEN=", 14) != nullptr;
}

Outcome by_path() { return out_if(can_read(told("WW_SECRET"))); }

Outcome through_symlink() {
  char link[512];
  snprintf(link, sizeof link, "%s/link", told("WW_WORK"));
  unlink(link);
  if (symlink(told("WW_SECRET"), link) != 0) return untriable("no link can be made");
  return out_if(can_read(link));
}

Outcome through_proc_root() {
  char path[512];
  for (const char* root : {"/proc/1/root", "/proc/self/root", "/proc/1/cwd/../../../../..", "/proc/thread-self/root"}) {
    snprintf(path, sizeof path, "%s%s", root, told("WW_SECRET"));
    if (can_read(path)) return kOut;
  }
  return kStopped;
}

Outcome through_parent_root() {
  char path[512];
  snprintf(path, sizeof path, "/proc/%s/root%s", told("WW_VICTIM"), told("WW_SECRET"));
  return out_if(can_read(path));
}

Outcome with_dots() {
  char path[1024] = "";
  for (int i = 0; i < 40; ++i) strcat(path, "../");
  strcat(path, told("WW_SECRET") + 1);
  return out_if(can_read(path));
}

Outcome out_of_chroot() {
  char jail[512];
  snprintf(jail, sizeof jail, "%s/jail", told("WW_WORK"));
  mkdir(jail, 0755);
  const int above = open("/", O_RDONLY | O_DIRECTORY);
  if (chroot(jail) != 0 || fchdir(above) != 0) return kStopped;
  for (int i = 0; i < 40; ++i) {
    if (chdir("..") != 0) return kStopped;
  }
  return out_if(chroot(".") == 0 && can_read(told("WW_SECRET")));
}

Outcome by_file_handle() {
  struct {
    file_handle header;
    unsigned char bytes[128];
  } handle = {};
  handle.header.handle_bytes = sizeof handle.bytes;
  int mount_id = 0;
  const char* secret = told("WW_SECRET");
  if (name_to_handle_at(AT_FDCWD, secret, &handle.header, &mount_id, 0) != 0) return kStopped;
  char folder[512];
  snprintf(folder, sizeof folder, "%s", secret);
  *strrchr(folder, '/') = 0;
  const int mount = open(folder, O_RDONLY | O_DIRECTORY);
  return out_if(open_by_handle_at(mount, &handle.header, O_RDONLY) >= 0);
}

/// A node of one's own for the disk that / lies on.
Outcome from_disk() {
  struct stat facts;
  char node[512];
  if (stat("/usr", &facts) != 0) return untriable("no /usr");
  snprintf(node, sizeof node, "%s/disk", told("WW_WORK"));
  unlink(node);
  return out_if(mknod(node, S_IFBLK | 0600, facts.st_dev) == 0 && can_read(node));
}

Outcome kernel_log() {
  const int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
  char record[8192];
  return out_if(fd >= 0 && read(fd, record, sizeof record) > 0);
}

Outcome physical_memory() { return out_if(can_read("/dev/mem") || can_read("/proc/kcore")); }
Outcome password_hashes() { return out_if(can_read("/etc/shadow")); }
Outcome host_users() {
  FILE* file = fopen("/etc/passwd", "r");
  char line[512];
  int lines = 0;
  while (file && fgets(line, sizeof line, file)) ++lines;
  return out_if(lines > 1);
}
Outcome home_folder() { return out_if(can_list(told("WW_HOME_FOLDER"))); }
Outcome log_folder() { return out_if(can_list("/var/log")); }
Outcome temporary_folder() {
  char folder[512];
  snprintf(folder, sizeof folder, "%s", told("WW_SECRET"));
  *strrchr(folder, '/') = 0;
  return out_if(can_list(folder));
}
Outcome interfaces() { return out_if(can_list("/sys/class/net")); }
Outcome cgroup_tree() { return out_if(can_list("/sys/fs/cgroup")); }

Outcome own_environment() {
  for (char** entry = environ; *entry; ++entry) {
    if (strncmp(*entry, "WW_HOST_TOKEN=", 14) == 0) return kOut;
  }
  return kStopped;
}

Outcome environment_of_others() {
  char path[64];
  for (int pid = 1; pid < 400'000; ++pid) {
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    if (pid != getpid() && holds_token(path)) return kOut;
  }
  return kStopped;
}

/// Whatever was open in the program that started us.
Outcome left_open_descriptor() {
  for (int fd = 3; fd < 1024; ++fd) {
    char text[6];
    if (pread(fd, text, sizeof text, 0) == 6 && memcmp(text, "secret", 6) == 0) return kOut;
  }
  return kStopped;
}

Outcome descriptors_of_others() {
  char path[128];
  snprintf(path, sizeof path, "/proc/%s/fd", told("WW_VICTIM"));
  return out_if(can_list(path));
}

/// Memory files that another process holds are reachable through /proc alone.
Outcome map_of_others() {
  char path[128];
  snprintf(path, sizeof path, "/proc/%s/maps", told("WW_VICTIM"));
  return out_if(can_read(path));
}

const Act kActs[] = {{"read_by_path", by_path},
                     {"read_through_symlink", through_symlink},
                     {"read_through_proc_root", through_proc_root},
                     {"read_through_root_of_others", through_parent_root},
                     {"read_with_dots", with_dots},
                     {"read_out_of_chroot", out_of_chroot},
                     {"read_by_file_handle", by_file_handle},
                     {"read_from_disk_node", from_disk},
                     {"read_kernel_log", kernel_log},
                     {"read_physical_memory", physical_memory},
                     {"read_password_hashes", password_hashes},
                     {"read_host_users", host_users},
                     {"list_home", home_folder},
                     {"list_logs", log_folder},
                     {"list_temporary_folder", temporary_folder},
                     {"list_interfaces", interfaces},
                     {"list_cgroups", cgroup_tree},
                     {"read_host_environment", own_environment},
                     {"read_environment_of_others", environment_of_others},
                     {"read_left_open_descriptor", left_open_descriptor},
                     {"list_descriptors_of_others", descriptors_of_others},
                     {"read_memory_map_of_others", map_of_others}};

}  // namespace

PROBE_MAIN(kActs)
