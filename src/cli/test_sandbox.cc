// SPDX-License-Identifier: Apache-2.0
#include "cli/test_sandbox.h"

#include <fmt/format.h>

#include <thread>

#include "base/child.h"
#include "base/fault.h"
#include "base/files.h"

namespace ww::cli {
namespace {

// tests/sandbox/probe.h
constexpr int kOut = 0, kStopped = 10, kUntriable = 20;

constexpr char kWork[] = "/workspace";
constexpr milliseconds kWallLimit{10'000};
constexpr milliseconds kGrowth{80};  // a process left behind writes every 5 ms
constexpr uint64_t kFlood = 16u << 20;

/// Small, so that exhausting them is cheap. tests/sandbox/exhausting/probe.cc asks for more than each of them.
sandbox::Limits probe_limits() {
  sandbox::Limits limits;
  limits.memory_bytes = 192u << 20;
  limits.tasks = 64;
  limits.wall = kWallLimit;
  limits.file_bytes = 64u << 20;
  limits.scratch_bytes = 32u << 20;
  limits.scratch_files = 4096;
  limits.output_bytes = 64u << 10;
  limits.open_files = 512;
  return limits;
}

bool is_script(const Probe& probe) { return probe.program.extension() == ".sh"; }

bool grows(const fs::path& file) {
  const auto size = [&] {
    std::error_code code;
    const auto bytes = fs::file_size(file, code);
    return code ? 0 : bytes;
  };
  const auto before = size();
  std::this_thread::sleep_for(kGrowth);
  return size() > before;
}

/// Ended by a limit that was there to end it, or by the filter.
bool ended_by_limit(const Probe& probe, const sandbox::Ended& ended) {
  switch (ended.how) {
    case sandbox::How::kWallLimit:
      return probe.wall.count() > 0;
    case sandbox::How::kCpuLimit:
    case sandbox::How::kOutOfMemory:
    case sandbox::How::kDeniedSyscall:
      return true;
    default:
      return false;
  }
}

std::string describe(const sandbox::Ended& ended) {
  if (ended.how != sandbox::How::kExited) return std::string(name(ended.how));
  if (ended.exit_code == kStopped) return "";
  std::string text = fmt::format("exit code {}", ended.exit_code);
  for (const std::string& said : {ended.output, ended.errors}) {
    if (!said.empty()) text += ": " + said.substr(0, said.find('\n'));
  }
  return text;
}

}  // namespace

std::string_view name(Wall wall) {
  switch (wall) {
    case Wall::kHeld:
      return "held";
    case Wall::kEscaped:
      return "ESCAPED";
    case Wall::kNotProvable:
      return "not provable";
    case Wall::kBroken:
      return "BROKEN";
  }
  return "";
}

fs::path ProbeRun::program(const Probe& probe) {
  if (is_script(probe)) return probe.program;
  fs::path& program = programs_[probe.program];
  if (!program.empty()) return program;
  const fs::path built = ground_.folder() / probe.kind;
  const ChildResult compiled = run_child(
      {"g++", "-std=c++20", "-O1", "-pthread", probe.program.string(), "-o", built.string()}, milliseconds(60'000));
  if (compiled.exit_code != 0) {
    throw Fault(Fault::Kind::kSystem, probe.program.string() + " does not compile: " + compiled.errors);
  }
  return program = built;
}

bool ProbeRun::works_outside(const Probe& probe, std::string& note) {
  ground_.renew();
  std::vector<std::string> argv = {program(probe).string(), probe.name};
  if (is_script(probe)) argv.insert(argv.begin(), "/bin/sh");
  // What outlives others is to be seen doing so, and ends by itself.
  const Rest rest = probe.sign == Sign::kGrows ? Rest::kSpared : Rest::kKilled;
  const BoundedEnd end = run_bounded(argv, ground_.told(ground_.work(), ground_.work() / "SKILL.md"), kWallLimit, rest);
  note = "outside: " + (end.timed_out ? "it does not end" : fmt::format("exit code {}", end.exit_code));
  if (end.exit_code == kUntriable) note += " (" + end.output.substr(0, end.output.find('\n')) + ")";
  if (end.timed_out || end.exit_code != kOut) return false;
  if (probe.sign == Sign::kGrows) return grows(ground_.work() / "alive");
  return probe.sign != Sign::kOutput || end.output_bytes >= kFlood;
}

sandbox::Spec ProbeRun::spec(const Probe& probe) {
  const fs::path inside = is_script(probe) ? "/probe.sh" : "/probe";
  sandbox::Spec spec;
  spec.argv = {inside.string(), probe.name};
  if (is_script(probe)) spec.argv.insert(spec.argv.begin(), "/bin/sh");
  spec.env = ground_.told(kWork, fs::path(kWork) / "SKILL.md");
  spec.work_folder = kWork;
  sandbox::add_system(spec);
  spec.mounts.push_back({program(probe), inside});
  spec.mounts.push_back({ground_.setuid_program(), {}, sandbox::Access::kReadOnly, true});
  spec.limits = probe_limits();
  if (probe.sign == Sign::kGrows) {
    spec.mounts.push_back({ground_.shared_work(), kWork, sandbox::Access::kReadWrite});
  } else {
    spec.scratch.push_back({kWork, spec.limits.scratch_bytes, spec.limits.scratch_files});
    spec.mounts.push_back({ground_.locked_source(), fs::path(kWork) / "SKILL.md"});
  }
  if (probe.wall.count()) spec.limits.wall = probe.wall;
  spec.limits.cpu = probe.cpu;
  return spec;
}

ProbeRun::Inside ProbeRun::run_inside(const Probe& probe) {
  ground_.renew();
  const fs::path alive = ground_.shared_work() / "alive";
  fs::remove(alive);
  Inside inside{.ended = sandbox::run(spec(probe))};
  const sandbox::Ended& ended = inside.ended;
  inside.stopped = ended_by_limit(probe, ended) || (ended.how == sandbox::How::kExited && ended.exit_code == kStopped);
  if (!ended.ok()) return inside;
  switch (probe.sign) {
    case Sign::kExit:
      inside.got_out = true;
      break;
    case Sign::kGrows:
      inside.got_out = grows(alive);
      inside.stopped = fs::exists(alive);  // else it never lived
      break;
    case Sign::kOutput:
      inside.got_out = ended.output.size() + ended.errors.size() > 2 * probe_limits().output_bytes;
      inside.stopped = ended.output_cut || ended.errors_cut;
      break;
  }
  return inside;
}

ProbeResult ProbeRun::try_out(const Probe& probe) {
  const nanoseconds start = now();
  ProbeResult result{.probe = probe, .wall = Wall::kBroken, .note = {}, .seconds = 0};
  std::string outside;
  const bool works = works_outside(probe, outside);
  const Inside inside = run_inside(probe);
  result.note = describe(inside.ended);
  if (inside.got_out) {
    result.wall = Wall::kEscaped;
  } else if (!works) {
    result.wall = Wall::kNotProvable;
    result.note = outside;
  } else if (inside.stopped) {
    result.wall = Wall::kHeld;
  }
  result.seconds = to_seconds(now() - start);
  return result;
}

}  // namespace ww::cli
