// SPDX-License-Identifier: Apache-2.0
#include "judge/referee_process.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/fault.h"
#include "base/files.h"
#include "judge/python_sandbox.h"
#include "judge/referee_client.h"

namespace ww::judge {
namespace {

constexpr int kJudgeSocket = 3;
constexpr nanoseconds kEndLimit = seconds(5);
// Threads of torch, of its compilers and of several children.
constexpr uint32_t kTasks = 1024;
constexpr uint32_t kOpenFiles = 4096;
// An allocation beyond the first share fails, which the child can report; at the second share the kernel kills.
constexpr double kChildShare = 0.75;
constexpr double kSandboxShare = 0.9;

// Freed blocks stay with the process: page faults made eager 2.7 times slower. The threshold is beyond any machine.
constexpr const char* kEnvironment[] = {
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "HOME=/tmp",
    "TMPDIR=/tmp",
    "LANG=C.UTF-8",
    "MALLOC_TRIM_THRESHOLD_=1099511627776",
    "MALLOC_MMAP_MAX_=0",
    "MALLOC_TOP_PAD_=67108864",
    "TORCHINDUCTOR_COMPILE_THREADS=1",
    "TORCHINDUCTOR_CACHE_DIR=/tmp/inductor",
};

uint64_t memory_share(double share) {
  return static_cast<uint64_t>(share * static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                               static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

sandbox::Process start_parent(const RefereeSettings& settings, int socket) {
  const fs::path package = fs::absolute(settings.package_folder) / "warpwright";
  const fs::path entry = package / "referee" / "__main__.py";
  if (!fs::exists(entry)) throw Fault(Fault::Kind::kMissing, "no referee at " + entry.string());
  const fs::path python = fs::absolute(settings.python);
  sandbox::Spec spec;
  spec.argv = {python.string(), "-I", entry.string()};
  spec.env.assign(std::begin(kEnvironment), std::end(kEnvironment));
  spec.env.insert(spec.env.end(), settings.environment.begin(), settings.environment.end());
  sandbox::add_system(spec);
  add_python(spec, python);
  spec.mounts.push_back({.host = package});
  spec.limits.memory_bytes = memory_share(kSandboxShare);
  spec.limits.tasks = kTasks;
  spec.limits.wall = milliseconds(0);
  spec.limits.scratch_bytes = settings.scratch_bytes;
  spec.limits.open_files = kOpenFiles;
  spec.cpus = settings.cpus;
  spec.descriptors = {{.host_fd = socket, .inside_fd = kJudgeSocket}};
  spec.output = sandbox::Output::kCapture;
  return sandbox::start(spec);
}

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return {};
  const size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1,
                     end - (start == std::string::npos ? 0 : start + 1) + 1);
}

}  // namespace

RefereeProcess::RefereeProcess(const RefereeSettings& settings) : RefereeProcess(settings, MessageSocket::pair()) {}

// The other end closes here once it is handed over, so that the end of the process ends the connection.
RefereeProcess::RefereeProcess(const RefereeSettings& settings, std::pair<MessageSocket, MessageSocket> sockets)
    : child_memory_bytes_(settings.memory_bytes > 0 ? settings.memory_bytes : memory_share(kChildShare)),
      socket_(std::move(sockets.first)),
      process_(start_parent(settings, sockets.second.fd())) {
  sockets.second.close();
}

void RefereeProcess::fail(const std::string& request, bool silent) {
  socket_.close();
  if (silent) process_.kill();
  auto ended = process_.wait(kEndLimit);
  if (!ended) {
    process_.kill();
    ended = process_.wait();
  }
  std::string text =
      silent ? "the referee does not answer " + request : "the referee ended before it answered " + request;
  if (!silent && ended->signal != 0) text += std::string(" by ") + ::strsignal(ended->signal);
  const std::string said = last_line(ended->errors);
  if (!said.empty()) text += ": " + said;
  throw Fault(Fault::Kind::kSystem, text);
}

}  // namespace ww::judge
