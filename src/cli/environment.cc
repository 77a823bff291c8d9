// SPDX-License-Identifier: Apache-2.0
#include "cli/environment.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string>

#include "base/fault.h"

namespace ww::cli {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_home(const fs::path& folder) {
  std::error_code code;
  return fs::exists(folder / "include/warpwright/solution.h", code) && fs::exists(folder / "python/warpwright", code);
}

/// WW_HOME, which ./ww sets; else the nearest folder above the program that looks like the repository.
fs::path find_home(const fs::path& programs) {
  if (const std::string given = variable("WW_HOME"); !given.empty()) {
    if (is_home(given)) return fs::absolute(given);
    throw Fault(Fault::Kind::kMissing,
                "WW_HOME=" + given + " is not the repository: it has no include/warpwright/solution.h");
  }
  for (fs::path folder = programs; folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_home(folder)) return folder;
  }
  throw Fault(Fault::Kind::kMissing,
              "the repository is not above " + programs.string() + ": start ./ww in it, or set WW_HOME to it");
}

fs::path find_python(const fs::path& home) {
  const std::string given = variable("WW_PYTHON");
  return given.empty() ? home / ".venv/bin/python" : fs::absolute(given);
}

fs::path find_cache(const fs::path& home) {
  const std::string given = variable("XDG_CACHE_HOME");
  return given.empty() ? home / ".ww/cache" : fs::absolute(given) / "warpwright";
}

uint64_t find_cache_limit() {
  const std::string given = variable("WW_CACHE_MB");
  if (given.empty()) return build::kCacheLimitBytes;
  uint64_t megabytes = 0;
  const auto read = std::from_chars(given.data(), given.data() + given.size(), megabytes);
  if (read.ec != std::errc() || read.ptr != given.data() + given.size() || megabytes >> 40 != 0) {
    throw Fault(Fault::Kind::kSystem, "WW_CACHE_MB=" + given + " is no number of MiB: set it to one, or unset it");
  }
  return megabytes << 20;
}

}  // namespace

judge::Settings Environment::judge_settings() const {
  return {.program_folder = programs,
          .python = python,
          .python_package = home / "python",
          .include_folder = home / "include",
          .cache_folder = cache,
          .artifact_limit_bytes = cache_limit_bytes};
}

Environment read_environment() {
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code);
  if (code) throw_errno("reading /proc/self/exe", code.value());
  Environment environment;
  environment.programs = program.parent_path();
  environment.home = find_home(environment.programs);
  environment.python = find_python(environment.home);
  environment.cache = find_cache(environment.home);
  environment.cache_limit_bytes = find_cache_limit();
  environment.color = ::isatty(STDOUT_FILENO) && variable("NO_COLOR").empty();
  return environment;
}

}  // namespace ww::cli
