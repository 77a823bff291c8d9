// SPDX-License-Identifier: Apache-2.0
#include "cli/environment.h"

#include <unistd.h>

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
  return given.empty() ? home / ".venv/bin/python" : fs::path(given);
}

fs::path find_cache(const fs::path& home) {
  const std::string given = variable("XDG_CACHE_HOME");
  return given.empty() ? home / ".ww/cache" : fs::path(given) / "warpwright";
}

}  // namespace

judge::Settings Environment::judge_settings() const {
  return {.program_folder = programs,
          .python = python,
          .python_package = home / "python",
          .include_folder = home / "include",
          .cache_folder = cache};
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
  environment.color = ::isatty(STDOUT_FILENO) && variable("NO_COLOR").empty();
  return environment;
}

}  // namespace ww::cli
