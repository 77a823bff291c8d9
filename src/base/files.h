// SPDX-License-Identifier: Apache-2.0
//
// Whole-file reading and writing, and private temporary folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ww {

namespace fs = std::filesystem;

/// Error where the file is missing, unreadable, not a regular file or larger than `limit_bytes`.
Result<std::string> read_file(const fs::path& path, uint64_t limit_bytes = 64u << 20);

/// Writes aside in the same folder, syncs, renames: a reader sees the old file or the new one, never half.
/// Throws Fault naming the path.
void write_file(const fs::path& path, std::string_view bytes);

/// mkdir -p. Throws Fault naming the path.
void make_folders(const fs::path& path);

/// True if `text` is valid UTF-8.
bool is_utf8(std::string_view text);

/// A new empty folder (mode 0700), removed with all it holds by the destructor.
class TemporaryFolder {
 public:
  /// `parent` empty: the system's temporary folder. Throws Fault.
  explicit TemporaryFolder(std::string_view prefix, const fs::path& parent = {});
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const fs::path& path() const { return path_; }
  /// Keeps the folder: the destructor does nothing.
  fs::path release();

 private:
  fs::path path_;
};

/// Removes folders below `parent` (empty: the system's temporary folder) whose name starts with `prefix` and that
/// nobody has touched for an hour: of processes that were killed. Others' stay. Best effort.
void remove_abandoned(const fs::path& parent, std::string_view prefix);

}  // namespace ww
