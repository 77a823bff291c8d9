// SPDX-License-Identifier: Apache-2.0
#include "../probe.h"

#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/xattr.h>

namespace {

const char* locked() { return told("WW_LOCKED"); }

const char* own_file() {
  static char path[512];
  snprintf(path, sizeof path, "%s/own", told("WW_WORK"));
  const int fd = open(path, O_WRONLY | O_CREAT, 0666);
  if (fd < 0 || write(fd, "own", 3) != 3) exit(untriable("no file can be made in the work folder"));
  close(fd);
  return path;
}

Outcome reopen() {
  const int fd = open(locked(), O_RDONLY);
  if (fd < 0) return untriable("the locked file cannot be read");
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return out_if(can_open_for_writing(path));
}

Outcome map_shared() {
  const int fd = open(locked(), O_RDWR);
  if (fd < 0) return kStopped;
  return out_if(mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
}

Outcome hard_link() {
  char path[512];
  snprintf(path, sizeof path, "%s/second-name", told("WW_WORK"));
  unlink(path);
  return out_if(link(locked(), path) == 0 && can_open_for_writing(path));
}

Outcome move_folder() {
  char folder[512], moved[600];
  snprintf(folder, sizeof folder, "%s", locked());
  *strrchr(folder, '/') = 0;
  snprintf(moved, sizeof moved, "%s-moved", folder);
  if (rename(folder, moved) != 0) return kStopped;
  return out_if(rename(moved, folder) == 0);
}

Outcome remount() {
  mount(nullptr, locked(), nullptr, MS_REMOUNT | MS_BIND, nullptr);
  return out_if(can_open_for_writing(locked()));
}

Outcome unmount() {
  if (mount(own_file(), own_file(), nullptr, MS_BIND, nullptr) == 0) return out_if(umount2(own_file(), MNT_DETACH) == 0);
  return out_if(umount2(locked(), MNT_DETACH) == 0);
}

Outcome leave_in(const char* folder) {
  struct stat facts;
  if (stat(folder, &facts) != 0) return kStopped;
  return out_if(can_make_file_in(folder));
}

Outcome python_startup() {
  for (const char* folder : {"/usr/lib/python3/dist-packages", "/usr/lib/python3.12", "/usr/lib/python3.11"}) {
    if (can_make_file_in(folder)) return kOut;
  }
  return kStopped;
}

Outcome beside_secret() {
  char folder[512];
  snprintf(folder, sizeof folder, "%s", told("WW_SECRET"));
  *strrchr(folder, '/') = 0;
  return leave_in(folder);
}

Outcome spare_itself() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY);
  return out_if(fd >= 0 && write(fd, "-500", 4) == 4);
}

Outcome cgroup_members() {
  for (const char* file : {"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs",
                           "/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs"}) {
    if (can_open_for_writing(file)) return kOut;
  }
  return kStopped;
}

Outcome sys_setting() {
  for (const char* file : {"/sys/kernel/mm/transparent_hugepage/enabled", "/sys/devices/system/cpu/cpu1/online"}) {
    if (can_open_for_writing(file)) return kOut;
  }
  return kStopped;
}

Outcome memory_of_others() {
  char path[128];
  snprintf(path, sizeof path, "/proc/%s/mem", told("WW_VICTIM"));
  return out_if(can_open_for_writing(path));
}

const Act kActs[] = {
    {"write_locked_file", [] { return out_if(can_open_for_writing(locked())); }},
    {"truncate_locked_file", [] { return out_if(truncate(locked(), 1) == 0); }},
    {"rename_over_locked_file", [] { return out_if(rename(own_file(), locked()) == 0); }},
    {"remove_locked_file", [] { return out_if(unlink(locked()) == 0); }},
    {"chmod_locked_file", [] { return out_if(chmod(locked(), 0666) == 0); }},
    {"chown_locked_file", [] { return out_if(chown(locked(), getuid(), getgid()) == 0); }},
    {"touch_locked_file", [] { return out_if(utimensat(AT_FDCWD, locked(), nullptr, 0) == 0); }},
    {"link_locked_file", hard_link},
    {"reopen_locked_file", reopen},
    {"map_locked_file", map_shared},
    {"attribute_of_locked_file", [] { return out_if(setxattr(locked(), "user.ww", "x", 1, 0) == 0); }},
    {"remount_locked_file", remount},
    {"unmount_locked_file", unmount},
    {"mount_over_locked_file", [] { return out_if(mount(own_file(), locked(), nullptr, MS_BIND, nullptr) == 0); }},
    {"move_folder_of_locked_file", move_folder},
    {"replace_compiler", [] { return out_if(can_open_for_writing("/usr/bin/g++")); }},
    {"leave_program_on_path", [] { return leave_in("/usr/bin"); }},
    {"leave_library", [] { return leave_in("/usr/lib"); }},
    {"leave_loader_preload", [] { return leave_in("/etc"); }},
    {"leave_python_startup_file", python_startup},
    {"leave_git_hook", [] { return leave_in("/usr/share/git-core/templates/hooks"); }},
    {"leave_cron_job", [] { return out_if(can_make_file_in("/etc/cron.d") || can_make_file_in("/var/spool")); }},
    {"leave_file_in_home", [] { return leave_in(told("WW_HOME_FOLDER")); }},
    {"leave_file_on_host", beside_secret},
    {"set_core_pattern", [] { return out_if(can_open_for_writing("/proc/sys/kernel/core_pattern")); }},
    {"trigger_sysrq", [] { return out_if(can_open_for_writing("/proc/sysrq-trigger")); }},
    {"write_sys", sys_setting},
    {"join_cgroup", cgroup_members},
    {"spare_itself_at_oom", spare_itself},
    {"write_memory_of_others", memory_of_others}};

}  // namespace

PROBE_MAIN(kActs)
