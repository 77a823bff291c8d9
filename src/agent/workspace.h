// SPDX-License-Identifier: Apache-2.0
//
// The folder an agent works in. Programs that the agent runs write to it at the same time and are not trusted: no link
// in it is ever followed, and nothing outside it is read or written. Names are relative to it. Single-threaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace ww::agent {

class Workspace {
 public:
  static constexpr uint64_t kFileLimitBytes = 1 << 20;  ///< a source file beyond this is a mistake of the model

  /// Made if missing. Throws Fault.
  explicit Workspace(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }

  /// "kernels/a.cpp" of what a model wrote. Error where it names nothing inside.
  static Result<std::string> name_inside(const std::string& path);

  /// Errors are for the model. Throws Fault for what is the machine's (disk full).
  Result<std::string> read(const std::string& name) const;
  Status write(const std::string& name, const std::string& text);
  Status remove(const std::string& name);

  /// Regular files, sorted, at most some thousands.
  std::vector<std::string> files() const;

  /// Regular files as they are now, into a new folder. Throws Fault.
  void copy_to(const std::filesystem::path& target) const;

  /// Empties the folder.
  void clear();

  /// What has changed since the last call, by name: new text, or none where the file is gone. A file
  /// that is no UTF-8 text or too large is in `not_kept` alone.
  struct Changes {
    std::map<std::string, std::optional<std::string>> files;
    std::vector<std::string> not_kept;
  };
  Changes changes();
  /// From now on `name` is as it is now.
  void note(const std::string& name);

 private:
  struct State {
    uint64_t inode = 0;
    uint64_t size = 0;
    int64_t changed_ns = 0;
    bool operator==(const State&) const = default;
  };
  Fd open_file(const std::string& name, int flags) const;
  Fd open_folder(const std::string& name, bool make) const;
  State state_of(const std::string& name) const;

  std::filesystem::path folder_;
  Fd root_;
  std::map<std::string, State> known_;
};

}  // namespace ww::agent
