// SPDX-License-Identifier: Apache-2.0
//
// Each asks for more than it may have, and for no more than a machine can spare: it succeeds where there is no limit.
#include "../probe.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>

namespace {

constexpr size_t kMiB = 1 << 20;
constexpr size_t kMemory = 400 * kMiB;  // the runner grants 192 MiB
constexpr size_t kDisk = 100 * kMiB;    // 32 MiB a folder
constexpr int kTasks = 300;             // 64
constexpr int kFiles = 20'000;          // 4096 in the work folder
constexpr int kDescriptors = 3000;      // 512

Outcome memory(size_t bytes) {
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return kStopped;
  memset(block, 1, bytes);
  return kOut;
}

/// Each child takes a part that alone would be granted.
Outcome memory_together() {
  constexpr int kChildren = 8;
  pid_t children[kChildren];
  for (pid_t& child : children) {
    child = fork();
    if (child == 0) {
      if (memory(kMemory / kChildren) != kOut) _exit(1);
      pause();
    }
  }
  for (int i = 0; i < 100; ++i) {
    usleep(10'000);
    if (waitpid(-1, nullptr, WNOHANG) != 0) return kStopped;
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  return kOut;
}

Outcome fill(int fd, size_t bytes) {
  static char block[kMiB];
  for (size_t done = 0; done < bytes; done += sizeof block) {
    if (write(fd, block, sizeof block) != sizeof block) return kStopped;
  }
  return kOut;
}

Outcome fill_and_remove(const char* folder, size_t bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/ww-big", folder);
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return kStopped;
  const Outcome outcome = fill(fd, bytes);
  unlink(path);
  return outcome;
}

Outcome fill_by_many_files() {
  char path[512];
  Outcome outcome = kOut;
  for (size_t i = 0; i < kDisk / kMiB && outcome == kOut; ++i) {
    snprintf(path, sizeof path, "%s/part%zu", told("WW_WORK"), i);
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    outcome = fd < 0 ? kStopped : fill(fd, kMiB);
    close(fd);
  }
  return outcome;
}

/// Space that is reserved counts as used.
Outcome reserve() {
  char path[512];
  snprintf(path, sizeof path, "%s/reserved", told("WW_WORK"));
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  const bool granted = fd >= 0 && fallocate(fd, 0, 0, kDisk) == 0;
  unlink(path);
  return out_if(granted);
}

Outcome many_files(const char* folder, int files) {
  char path[512];
  int made = 0;
  for (; made < files; ++made) {
    snprintf(path, sizeof path, "%s/ww-%d", folder, made);
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0) break;
    close(fd);
  }
  for (int i = 0; i < made; ++i) {
    snprintf(path, sizeof path, "%s/ww-%d", folder, i);
    unlink(path);
  }
  return out_if(made == files);
}

Outcome deep_folders() {
  constexpr int kDepth = 4200;
  if (chdir(told("WW_WORK")) != 0) return untriable("no work folder");
  int depth = 0;
  while (depth < kDepth && mkdir("d", 0755) == 0 && chdir("d") == 0) ++depth;
  // Few programs can remove what lies so deep.
  for (int left = depth; left > 0 && chdir("..") == 0 && rmdir("d") == 0; --left) {
  }
  return out_if(depth == kDepth);
}

Outcome many_links() {
  char first[512], second[512];
  snprintf(first, sizeof first, "%s/first", told("WW_WORK"));
  close(open(first, O_WRONLY | O_CREAT, 0600));
  for (int i = 0; i < kFiles; ++i) {
    snprintf(second, sizeof second, "%s/second-%d", told("WW_WORK"), i);
    if (link(first, second) != 0) return kStopped;
  }
  return kOut;
}

Outcome many_processes() {
  int made = 0;
  for (; made < kTasks; ++made) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      pause();
      _exit(0);
    }
  }
  const Outcome outcome = out_if(made == kTasks);
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
  return outcome;
}

/// Forks as fast as it can, for a while, children too; they all end with their time.
Outcome fork_bomb() {
  char path[512];
  snprintf(path, sizeof path, "%s/forks", told("WW_WORK"));
  const int count = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t end = now.tv_sec + 1;
  const pid_t first = getpid();
  struct stat facts = {};
  while (now.tv_sec < end && facts.st_size < kTasks) {
    if (fork() == 0 && write(count, "x", 1) != 1) _exit(1);
    fstat(count, &facts);
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  if (getpid() != first) {
    usleep(500'000);  // so that all live at once
    _exit(0);
  }
  return out_if(facts.st_size >= kTasks);
}

void* sleep_on(void*) {
  pause();
  return nullptr;
}

Outcome many_threads() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (int i = 0; i < kTasks; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &small, sleep_on, nullptr) != 0) return kStopped;
  }
  return kOut;
}

Outcome many_descriptors(int (*open_one)()) {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  for (int i = 0; i < kDescriptors; ++i) {
    if (open_one() < 0) return kStopped;
  }
  return kOut;
}

Outcome shared_memory() {
  const int id = shmget(IPC_PRIVATE, kMemory, IPC_CREAT | 0600);
  if (id < 0) return kStopped;
  void* block = shmat(id, nullptr, 0);
  shmctl(id, IPC_RMID, nullptr);
  if (block == reinterpret_cast<void*>(-1)) return kStopped;
  memset(block, 1, kMemory);
  return kOut;
}

Outcome big_message_queue() { return out_if(syscall(SYS_mq_open, "ww-own", O_RDWR | O_CREAT, 0600, nullptr) >= 0); }

Outcome spin() {
  timespec used;
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  } while (used.tv_sec < 1);
  return kOut;
}

Outcome sleep_long() {
  usleep(1'500'000);
  return kOut;
}

Outcome deaf_and_stopped() {
  for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
  if (fork() == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  return sleep_long();
}

Outcome flood(int stream) {
  static char block[1 << 16];
  memset(block, 'x', sizeof block);
  for (int i = 0; i < 512; ++i) {
    if (write(stream, block, sizeof block) < 0) return kStopped;
  }
  return kOut;
}

const Act kActs[] = {
    {"memory_bomb", [] { return memory(kMemory); }},
    {"memory_bomb_by_many", memory_together},
    {"memory_bomb_in_memory_file", [] { return fill(memfd_create("bomb", 0), kMemory); }},
    {"memory_bomb_in_shared_memory", shared_memory},
    {"message_queue_bomb", big_message_queue},
    {"disk_bomb", [] { return fill_and_remove(told("WW_WORK"), kDisk); }},
    {"disk_bomb_by_many_files", fill_by_many_files},
    {"disk_bomb_by_reserving", reserve},
    {"disk_bomb_in_tmp", [] { return fill_and_remove("/tmp", kDisk); }},
    {"disk_bomb_in_dev_shm", [] { return fill_and_remove("/dev/shm", kDisk); }},
    {"inode_bomb", [] { return many_files(told("WW_WORK"), kFiles); }},
    {"inode_bomb_in_tmp", [] { return many_files("/tmp", kFiles); }},
    {"folder_bomb", deep_folders},
    {"link_bomb", many_links},
    {"process_bomb", many_processes},
    {"fork_bomb", fork_bomb},
    {"thread_bomb", many_threads},
    {"descriptor_bomb", [] { return many_descriptors([] { return open("/dev/null", O_RDONLY); }); }},
    {"event_bomb", [] { return many_descriptors([] { return eventfd(0, 0); }); }},
    {"memory_file_bomb", [] { return many_descriptors([] { return memfd_create("x", 0); }); }},
    {"spin_for_ever", spin},
    {"sleep_for_ever", sleep_long},
    {"deaf_and_stopped", deaf_and_stopped},
    {"flood_of_output", [] { return flood(1); }},
    {"flood_of_errors", [] { return flood(2); }}};

}  // namespace

PROBE_MAIN(kActs)
