// SPDX-License-Identifier: Apache-2.0
//
// Solution folder to artifact (a shared library that has been checked without being loaded). Native format, device cpu:
// kernels/*.cpp through g++ in the sandbox, which sees a copy of kernels/, our include folder and the system's
// compiler and headers, and nothing else. docs/formats/solution.md says what a solution may hold and link.
//
// Artifacts are content-addressed: source, flags, compiler, processor, ABI. An entry is written aside and renamed, so
// there are no locks, a lost race is harmless and a build that was killed leaves nothing that is trusted later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "task/task.h"

namespace ww::build {

struct Limits {
  uint64_t file_bytes = 4u << 20;     ///< one source file
  uint64_t source_bytes = 16u << 20;  ///< all of them
  size_t files = 256;
  uint64_t memory_bytes = 3ull << 30;  ///< the compiler and all it starts
  milliseconds wall{60'000};
  uint64_t artifact_bytes = 64u << 20;
  size_t diagnostics_bytes = 6000;  ///< of text in a failure
};

/// Of artifacts on the disk, when nobody says otherwise: tens of thousands of usual ones.
inline constexpr uint64_t kCacheLimitBytes = 4ull << 30;

struct Settings {
  /// Made if missing; may be shared by any number of processes. Artifacts that were not used for longest are removed
  /// once all take more than the limit.
  std::filesystem::path cache_folder;
  std::filesystem::path include_folder;  ///< holds warpwright/solution.h
  std::filesystem::path compiler = "/usr/bin/g++";
  uint64_t cache_limit_bytes = kCacheLimitBytes;
  Limits limits = {};
};

struct Artifact {
  std::filesystem::path path;  ///< of the library, inside the cache; read-only
  std::string id;              ///< content address of what it was made from, 64 hexadecimal digits
  std::string sha256;          ///< of the library
  uint64_t bytes = 0;
  double compile_s = 0;  ///< wall time of the compilation that made it, also where it came from the cache
  bool cached = false;
  std::vector<std::string> needs;  ///< DT_NEEDED
};

struct Failure {
  enum class Kind {
    kBadInput,    ///< no such folder: nothing that could be judged
    kBuildError,  ///< outcome build_error
    kForbidden,   ///< outcome forbidden: a library, loader feature or file that the contract does not allow
  };
  Kind kind = Kind::kBuildError;
  std::string text;   ///< for people; paths relative to the solution; at most Limits::diagnostics_bytes and a line
  size_t errors = 0;  ///< compiler errors counted, also those that `text` leaves out
};

struct BuildResult {
  std::string solution_id;  ///< content hash of kernels/; "" where it could not be read
  std::variant<Artifact, Failure> result;

  const Artifact* artifact() const { return std::get_if<Artifact>(&result); }
  const Failure* failure() const { return std::get_if<Failure>(&result); }
};

struct CacheUse {
  uint64_t entries = 0;
  uint64_t bytes = 0;  ///< on the disk
};

/// What Settings::cache_folder holds. Looks at every entry.
CacheUse measure_cache(const std::filesystem::path& cache_folder);

/// Thread-safe: build() may run from many threads and processes at once.
class Builder {
 public:
  /// Throws Fault{kMissing} naming what is missing (compiler, header), Fault{kDisk or kSystem} where the cache folder
  /// cannot be made.
  explicit Builder(Settings settings);
  ~Builder();

  /// Never throws for what a solution holds. Throws Fault for ours (disk full, sandbox not to be had).
  BuildResult build(const std::filesystem::path& solution, const task::Contract& contract) const;

  /// The compiler command of a build, for `build --json` and for comparison with a bare compiler. Paths are relative to
  /// the build's folder.
  std::vector<std::string> command(const task::Contract& contract, const std::vector<std::string>& sources,
                                   const std::string& output) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace ww::build
