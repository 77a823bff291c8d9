// SPDX-License-Identifier: Apache-2.0
#include "judge/runner_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "base/fault.h"
#include "base/files.h"
#include "base/hash.h"
#include "judge/priority.h"
#include "sandbox/isolation.h"

namespace ww::judge {
namespace {

constexpr uint64_t kErrorBytes = 64u << 10;
constexpr size_t kLastWordsBytes = 300;
constexpr nanoseconds kReapLimit = seconds(10);
// Beside what OpenMP makes: the main thread, and room for a pool that is being replaced.
constexpr uint32_t kSpareTasks = 8;

sandbox::Process start_program(const RunnerProcessSetup& setup, const Loadable& loadable,
                               std::vector<sandbox::HandedFd> fds) {
  // Without a mount namespace paths are the host's.
  const bool own_root = sandbox::probe().has("mount_ns");
  const fs::path program = own_root ? fs::path(wire::kProgramPath) : setup.program;
  const fs::path solution = own_root ? fs::path(wire::kSolutionPath) : loadable.artifact;
  sandbox::Spec spec;
  spec.argv = {program.string()};
  spec.env = setup.environment;
  spec.env.push_back("OMP_NUM_THREADS=" + std::to_string(setup.threads));
  sandbox::add_system(spec);
  spec.mounts.push_back({.host = setup.program, .inside = program});
  if (!loadable.artifact.empty()) {
    spec.argv.push_back(solution.string());
    spec.argv.insert(spec.argv.end(), loadable.libraries.begin(), loadable.libraries.end());
    spec.mounts.push_back({.host = loadable.artifact, .inside = solution});
  }
  spec.limits.memory_bytes = setup.limits.memory_bytes;
  spec.limits.tasks = static_cast<uint32_t>(setup.limits.max_threads) + kSpareTasks;
  spec.limits.wall = milliseconds(0);
  spec.cpus = setup.cpus;
  spec.descriptors = std::move(fds);
  spec.denial_fd = wire::kDenialFd;
  spec.output = sandbox::Output::kDiscard;
  return sandbox::start(spec);
}

/// The value of "Key:\tvalue" in a status file; "" if absent.
std::string status_value(const std::string& status, const std::string& key) {
  const size_t line = status.find("\n" + key + ":");
  if (line == std::string::npos) return {};
  const size_t first = status.find_first_not_of(" \t", line + key.size() + 2);
  return status.substr(first, status.find('\n', first) - first);
}

/// Every task of `pid` has the filter and can gain no privileges.
bool is_locked_down(pid_t pid) {
  bool any = false;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    const auto status = read_file(task.path() / "status");
    if (!status || status_value(*status, "Seccomp") != "2" || status_value(*status, "NoNewPrivs") != "1") return false;
    any = true;
  }
  return any;
}

RunnerFailure failure_from(const sandbox::Ended& ended, const std::string& doing) {
  using Kind = RunnerFailure::Kind;
  switch (ended.how) {
    case sandbox::How::kExited:
      return {Kind::kCrash, "exited with code " + std::to_string(ended.exit_code) + " while " + doing};
    case sandbox::How::kDeniedSyscall:
      return {Kind::kForbidden, "made the forbidden system call " +
                                    (ended.denied_syscall.empty() ? "(unknown)" : ended.denied_syscall) + " while " +
                                    doing};
    case sandbox::How::kOutOfMemory:
      return {Kind::kOutOfMemory, "went over its memory limit while " + doing};
    case sandbox::How::kWallLimit:
    case sandbox::How::kCpuLimit:
      return {Kind::kTimeout, "went over its time limit while " + doing};
    case sandbox::How::kSignalled:
    case sandbox::How::kKilled:
      break;
  }
  const char* abbreviation = ::sigabbrev_np(ended.signal);
  return {Kind::kCrash,
          "was ended by " +
              (abbreviation ? std::string("SIG") + abbreviation : "signal " + std::to_string(ended.signal)) +
              " while " + doing};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) result += c >= ' ' && c <= '~' ? c : ' ';
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

RunnerProcess::RunnerProcess(const RunnerProcessSetup& setup, const Loadable& loadable,
                             std::vector<WorkloadBuffers> workloads)
    : memory_(std::move(workloads),
              {.scratch_bytes = setup.limits.scratch_bytes, .twice_bytes = setup.limits.twice_bytes}),
      go_(make_eventfd()),
      done_(make_pipe()),
      errors_("ww-stderr", kErrorBytes),
      process_(start_program(setup, loadable,
                             {{go_.get(), wire::kGoFd},
                              {done_.write.get(), wire::kDoneFd},
                              {memory_.read_only().fd(), wire::kReadOnlyFd},
                              {memory_.writable().fd(), wire::kWritableFd},
                              {errors_.fd(), STDERR_FILENO}})),
      threads_(setup.threads) {
  // The only writer left is the runner: its end, or its closing, shows.
  done_.write.reset();
  endpoint_ = {process_.pid(), true, go_.get(), done_.read.get()};
  prefer(process_.pid());
  enter(setup.limits.load);
}

void RunnerProcess::enter(nanoseconds limit) {
  const CallTimes times = call({.operation = wire::Operation::kEnter}, nullptr, limit);
  const wire::Report report = memory_.report();
  if (times.end != CallEnd::kDone) {
    throw Fault(Fault::Kind::kSystem, "the runner did not start: " + end_after(times, "starting", limit).text);
  }
  if (times.status != wire::kOk) {
    throw Fault(Fault::Kind::kSystem, std::string("the runner cannot lock itself down: ") + report.text);
  }
  for (const auto& layer : process_.isolation().layers) {
    if (layer.name == "landlock" || layer.name == "seccomp") continue;
    if (!layer.present) missing_layers_.push_back(layer.name);
  }
  if (!report.has_landlock) missing_layers_.push_back("landlock");
  if (!report.has_seccomp) missing_layers_.push_back("seccomp");
  if (report.has_seccomp && !is_locked_down(endpoint_.pid)) {
    throw Fault(Fault::Kind::kSystem, "the runner says that it is locked down, and the kernel says that it is not");
  }
  memory_.write_tables(report.bases);
}

CallTimes RunnerProcess::call(const Request& request, const std::function<void()>& stage, nanoseconds limit) {
  sequence_++;
  const auto stage_all = [&] {
    wire::CallBlock& block = memory_.block();
    block.sequence = sequence_;
    block.operation = request.operation;
    block.threads = threads_;
    block.spin_ns = request.spin.count();
    block.call = request.call;
    if (stage) stage();
  };
  return timed_call(endpoint_, sequence_, stage_all, limit);
}

RunnerFailure RunnerProcess::end_after(const CallTimes& times, const std::string& doing, nanoseconds limit) {
  const bool died = times.end == CallEnd::kDied;
  if (!died) process_.kill();
  const auto ended = process_.wait(kReapLimit);
  if (!ended) throw Fault(Fault::Kind::kSystem, "a killed runner does not end");
  RunnerFailure failure;
  if (died) {
    failure = failure_from(*ended, doing);
    if (const std::string words = last_words(); !words.empty()) failure.text += "; its last words: " + words;
  } else if (times.end == CallEnd::kTimeout) {
    failure = {RunnerFailure::Kind::kTimeout,
               "did not finish " + doing + " within " + std::to_string(limit.count() / 1'000'000) + " ms"};
  } else {
    failure = {RunnerFailure::Kind::kProtocol,
               "sent done records that no call was due for, or closed its descriptors, while " + doing};
  }
  return failure;
}

int RunnerProcess::task_count() const {
  const auto status = read_file("/proc/" + std::to_string(endpoint_.pid) + "/status");
  return status ? static_cast<int>(std::strtol(status_value(*status, "Threads").c_str(), nullptr, 10)) : 0;
}

std::string RunnerProcess::last_words() const {
  const char* data = reinterpret_cast<const char*>(errors_.data());
  const std::string words = printable({data, ::strnlen(data, kErrorBytes)});
  return words.substr(words.size() - std::min(words.size(), kLastWordsBytes));
}

}  // namespace ww::judge
