// SPDX-License-Identifier: Apache-2.0
//
// What the judge found out once and need not find out again on this machine: admissions, compile baselines, ceilings.
// One small JSON file an entry, written aside and renamed; a damaged or foreign entry counts as absent. Any number of
// processes may share the folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_fwd.h"

namespace ww::judge {

class ResultCache {
 public:
  explicit ResultCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// `kind` names a subfolder; `key` is everything the entry depends on, and is stored with it.
  std::optional<Json> find(std::string_view kind, std::string_view key) const;
  /// A full disk or an unwritable folder loses the entry with a warning, never the judging.
  void store(std::string_view kind, std::string_view key, const Json& value) const;

 private:
  std::filesystem::path path_of(std::string_view kind, std::string_view key) const;

  std::filesystem::path folder_;
};

}  // namespace ww::judge
