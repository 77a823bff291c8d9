// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <thread>

#include "attempts.h"

namespace ww::sandbox::attempts {
namespace {

using Arguments = std::vector<std::string>;

uint64_t as_number(const Arguments& arguments, size_t index) {
  return std::strtoull(arguments[index].c_str(), nullptr, 10);
}

/// As many living children as asked for.
bool fork_many(const Arguments& arguments) {
  for (uint64_t i = 0; i < as_number(arguments, 0); ++i) {
    const pid_t child = ::fork();
    if (child < 0) return false;
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  return true;
}

bool start_many_threads(const Arguments& arguments) {
  try {
    for (uint64_t i = 0; i < as_number(arguments, 0); ++i) std::thread([] { ::pause(); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

/// Never ends by itself.
bool fork_bomb(const Arguments&) {
  while (true) ::fork();
}

bool fill_memory(const Arguments& arguments) {
  const size_t bytes = as_number(arguments, 0);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  memset(memory, 1, bytes);
  return true;
}

/// By many children, each with a part.
bool fill_memory_together(const Arguments& arguments) {
  constexpr int kChildren = 8;
  for (int i = 0; i < kChildren; ++i) {
    if (::fork() == 0) {
      fill_memory({std::to_string(as_number(arguments, 0) / kChildren)});
      ::pause();
    }
  }
  ::usleep(1'000'000);
  int status;
  return ::waitpid(-1, &status, WNOHANG) == 0;  // all still alive
}

bool fill_file(const Arguments& arguments) {
  const int fd = ::open(arguments[0].c_str(), O_WRONLY | O_CREAT, 0644);
  static char block[1 << 20];
  for (uint64_t left = as_number(arguments, 1); left > 0;) {
    const ssize_t count = ::write(fd, block, left < sizeof block ? left : sizeof block);
    if (count <= 0) return false;
    left -= static_cast<uint64_t>(count);
  }
  return true;
}

bool fill_memory_file(const Arguments& arguments) {
  const int fd = ::memfd_create("bomb", 0);
  if (fd < 0) return false;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  static char block[1 << 20];
  for (uint64_t left = as_number(arguments, 0); left >= sizeof block; left -= sizeof block) {
    if (::write(fd, block, sizeof block) <= 0) return false;
  }
  return true;
}

bool make_many_files(const Arguments& arguments) {
  for (uint64_t i = 0; i < as_number(arguments, 1); ++i) {
    const int fd = ::open((arguments[0] + "/" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0644);
    if (fd < 0) return false;
    ::close(fd);
  }
  return true;
}

bool flood_output(const Arguments&) {
  static char block[1 << 16];
  memset(block, 'x', sizeof block);
  while (true) {
    if (::write(1, block, sizeof block) < 0 || ::write(2, block, sizeof block) < 0) ::_exit(3);
  }
}

bool stop_itself(const Arguments&) {
  ::raise(SIGSTOP);
  if (::fork() == 0) ::raise(SIGSTOP);
  while (true) ::pause();
}

bool ignore_everything(const Arguments&) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  while (true) ::pause();
}

bool spin(const Arguments&) {
  ::fork();
  while (true) asm volatile("");
}

}  // namespace

const std::vector<Attempt>& resource_attempts() {
  static const std::vector<Attempt> list = {{"fork_many", fork_many},
                                            {"start_many_threads", start_many_threads},
                                            {"fork_bomb", fork_bomb},
                                            {"fill_memory", fill_memory},
                                            {"fill_memory_together", fill_memory_together},
                                            {"fill_file", fill_file},
                                            {"fill_memory_file", fill_memory_file},
                                            {"make_many_files", make_many_files},
                                            {"flood_output", flood_output},
                                            {"stop_itself", stop_itself},
                                            {"ignore_everything", ignore_everything},
                                            {"spin", spin}};
  return list;
}

}  // namespace ww::sandbox::attempts
