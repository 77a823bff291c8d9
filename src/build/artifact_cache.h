// SPDX-License-Identifier: Apache-2.0
//
// Artifacts by content address: folder/ab/abcd.../{solution.so, entry.json}. Invariants:
//  1. An entry appears whole, by the rename of a folder that was written aside; nobody waits for anybody.
//  2. An entry is trusted only if its library has the hash that entry.json states; else it is as good as absent.
//  3. Entries are never changed, only replaced where they are broken.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "build/builder.h"

namespace ww::build {

class ArtifactCache {
 public:
  /// Throws Fault where the folder cannot be made. Removes what killed builds left aside.
  explicit ArtifactCache(std::filesystem::path folder);

  std::optional<Artifact> find(const std::string& id) const;

  /// Throws Fault (disk full). Where another build was first, theirs is returned: the content is the same.
  Artifact store(const std::string& id, std::string_view library, const std::vector<std::string>& needs,
                 double compile_s) const;

 private:
  std::filesystem::path entry(const std::string& id) const;

  std::filesystem::path folder_;
  std::filesystem::path aside_;
};

}  // namespace ww::build
