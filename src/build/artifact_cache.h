// SPDX-License-Identifier: Apache-2.0
//
// Artifacts by content address: folder/ab/abcd.../{solution.so, entry.json}. Invariants:
//  1. An entry appears whole, by the rename of a folder that was written aside; nobody waits for anybody.
//  2. An entry is trusted only if its library has the hash that entry.json states; else it is as good as absent.
//  3. Entries are never changed, only replaced where they are broken. The time of entry.json is that of the last use.
//  4. The limit is kept shard by shard (the first two digits of an id), so that a store looks at a 256th of the
//  entries:
//     what was used longest ago goes first; an entry used within kInUse stays, whatever the limit, because somebody may
//     be about to load it. An entry leaves whole, by a rename, as it came.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "build/builder.h"

namespace ww::build {

class ArtifactCache {
 public:
  static constexpr std::chrono::minutes kInUse{15};

  /// Throws Fault where the folder cannot be made. Removes what killed builds left aside.
  ArtifactCache(std::filesystem::path folder, uint64_t limit_bytes);

  std::optional<Artifact> find(const std::string& id) const;

  /// Throws Fault (disk full). Where another build was first, theirs is returned: the content is the same.
  Artifact store(const std::string& id, std::string_view library, const std::vector<std::string>& needs,
                 double compile_s) const;

 private:
  std::filesystem::path entry(const std::string& id) const;
  void evict(const std::filesystem::path& shard) const;

  std::filesystem::path folder_;
  std::filesystem::path aside_;
  uint64_t shard_limit_bytes_;
};

}  // namespace ww::build
