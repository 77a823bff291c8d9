// SPDX-License-Identifier: Apache-2.0
#include "build/compile.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "base/fd.h"
#include "base/files.h"
#include "build/diagnostics.h"
#include "build/refusal.h"
#include "sandbox/sandbox.h"

namespace ww::build {
namespace {

constexpr char kWorkplace[] = "ww-build";
constexpr char kInside[] = "/build";
constexpr char kLibrary[] = "out/solution.so";
/// Exit code of the compiler driver where a program that it started was ended by a signal (GCC's ICE_EXIT_CODE).
constexpr int kCompilerCrashed = 4;
/// With less than this left on its disk a failed compilation says nothing about the solution.
constexpr uint64_t kDiskReserve = 64u << 20;

/// The folder that the compiler sees: kernels/ include/ out/.
class Workplace {
 public:
  Workplace(const Sources& sources, const std::vector<Header>& headers) : folder_(kWorkplace) {
    for (const SourceFile& file : sources.files) put(file.name, file.bytes);
    for (const Header& header : headers) put("include/" + header.name, header.bytes);
    make_folders(folder_.path() / "out");
    sandbox::lend(folder_.path());
  }

  const fs::path& path() const { return folder_.path(); }

  /// Where the sandbox shows it: without mount namespaces nothing can be shown elsewhere.
  fs::path inside() const { return sandbox::probe().has("mount_ns") ? fs::path(kInside) : path(); }

  bool disk_is_full() const {
    struct statvfs info;
    return ::statvfs(path().c_str(), &info) == 0 && uint64_t{info.f_bavail} * info.f_frsize < kDiskReserve;
  }

  /// Not followed if it is a link: the compiler's folder is writable for what runs in the sandbox.
  std::string read_library(uint64_t limit_bytes) const {
    const Fd fd(::open((path() / kLibrary).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info;
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      refuse(Failure::Kind::kBuildError, "the compiler ended well but left no library");
    }
    const auto size = static_cast<uint64_t>(info.st_size);
    if (size > limit_bytes) refuse_size(limit_bytes);
    std::string bytes(size, '\0');
    for (size_t done = 0; done < size;) {
      const ssize_t count = ::pread(fd.get(), bytes.data() + done, size - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) throw_errno("reading " + (path() / kLibrary).string(), count < 0 ? errno : EIO);
      done += static_cast<size_t>(count);
    }
    return bytes;
  }

  [[noreturn]] static void refuse_size(uint64_t limit_bytes) {
    refuse(Failure::Kind::kBuildError, fmt::format("the compiled library is larger than {} bytes", limit_bytes));
  }

 private:
  /// Plain writes: this folder is thrown away, so nothing has to reach the disk.
  void put(const std::string& name, const std::string& bytes) const {
    const fs::path target = path() / name;
    make_folders(target.parent_path());
    const Fd fd(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!fd.valid()) throw_errno("creating " + target.string());
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw_errno("writing " + target.string());
      done += static_cast<size_t>(count);
    }
  }

  TemporaryFolder folder_;
};

sandbox::Spec spec_for(std::vector<std::string> argv, const Workplace& workplace, const Limits& limits,
                       nanoseconds deadline) {
  sandbox::Spec spec;
  spec.argv = std::move(argv);
  spec.env = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=/tmp", "HOME=/tmp"};
  sandbox::add_system(spec);
  spec.mounts.push_back({workplace.path(), workplace.inside(), sandbox::Access::kReadWrite});
  spec.work_folder = workplace.inside();
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - now());
  spec.limits.wall = std::max(milliseconds(1), left);
  spec.limits.cpu = spec.limits.wall;
  spec.limits.memory_bytes = limits.memory_bytes;
  spec.limits.file_bytes = limits.artifact_bytes;
  spec.limits.scratch_bytes = limits.artifact_bytes;
  return spec;
}

void refuse_unless_ok(const sandbox::Ended& ended, const Workplace& workplace, const Limits& limits) {
  if (ended.ok()) return;
  if (workplace.disk_is_full()) {
    throw Fault(Fault::Kind::kDisk, "compiling: the disk that holds " + workplace.path().string() + " is full");
  }
  using sandbox::How;
  if (ended.how == How::kWallLimit || ended.how == How::kCpuLimit) {
    refuse(Failure::Kind::kBuildError,
           fmt::format("the compiler took longer than {:g} s", static_cast<double>(limits.wall.count()) / 1e3));
  }
  if (ended.how == How::kOutOfMemory) {
    refuse(Failure::Kind::kBuildError,
           fmt::format("the compiler needed more than {} MiB of memory", limits.memory_bytes >> 20));
  }
  Diagnostics found = shorten(ended.errors, ended.errors_cut, limits.diagnostics_bytes, kErrorLimit);
  if (found.text.empty())
    found.text = fmt::format("the compiler ended with exit code {} and no message\n", ended.exit_code);
  if (ended.exit_code == kCompilerCrashed) {
    found.text +=
        fmt::format("a part of the compiler crashed or was stopped; its limits: {} MiB a file, {} MiB of memory\n",
                    limits.artifact_bytes >> 20, limits.memory_bytes >> 20);
  }
  refuse(Failure::Kind::kBuildError, std::move(found.text), found.errors);
}

std::string object_name(size_t index) { return fmt::format("out/{}.o", index); }

/// Each file on its own, as many at once as there are cores. The first refusal in the order of names counts.
void compile_apart(const std::vector<std::string>& units, const Toolchain& toolchain, const Workplace& workplace,
                   const Limits& limits, nanoseconds deadline) {
  std::vector<std::optional<sandbox::Ended>> ended(units.size());
  std::atomic<size_t> next{0};
  const auto lane = [&] {
    for (size_t i; (i = next++) < units.size();) {
      std::vector<std::string> argv = {toolchain.compiler.string()};
      std::ranges::copy(compile_flags(), std::back_inserter(argv));
      argv.insert(argv.end(), {"-c", units[i], "-o", object_name(i)});
      ended[i] = sandbox::run(spec_for(std::move(argv), workplace, limits, deadline));
    }
  };
  const size_t lanes = std::min<size_t>(units.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::future<void>> running;
  for (size_t i = 0; i < lanes; i++) running.push_back(std::async(std::launch::async, lane));
  for (auto& each : running) each.wait();
  for (auto& each : running) each.get();
  for (const auto& each : ended) refuse_unless_ok(*each, workplace, limits);
}

}  // namespace

void remove_abandoned_builds() { remove_abandoned({}, std::string(kWorkplace) + "-"); }

std::vector<std::string> compile_and_link_command(const Toolchain& toolchain, const std::vector<std::string>& sources,
                                                  const std::string& output, bool link_dnnl) {
  std::vector<std::string> argv = {toolchain.compiler.string()};
  std::ranges::copy(compile_flags(), std::back_inserter(argv));
  std::ranges::copy(sources, std::back_inserter(argv));
  argv.insert(argv.end(), {"-o", output});
  std::ranges::copy(link_flags(link_dnnl), std::back_inserter(argv));
  return argv;
}

std::string compile(const Sources& sources, const std::vector<Header>& headers, const Toolchain& toolchain,
                    bool link_dnnl, const Limits& limits) {
  const nanoseconds deadline = now() + limits.wall;
  const Workplace workplace(sources, headers);
  std::vector<std::string> inputs = sources.units();
  if (inputs.size() > 1) {
    compile_apart(inputs, toolchain, workplace, limits, deadline);
    for (size_t i = 0; i < inputs.size(); i++) inputs[i] = object_name(i);
  }
  const auto argv = compile_and_link_command(toolchain, inputs, kLibrary, link_dnnl);
  refuse_unless_ok(sandbox::run(spec_for(argv, workplace, limits, deadline)), workplace, limits);
  return workplace.read_library(limits.artifact_bytes);
}

}  // namespace ww::build
