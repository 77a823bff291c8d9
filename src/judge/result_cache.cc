// SPDX-License-Identifier: Apache-2.0
#include "judge/result_cache.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"

namespace ww::judge {

std::filesystem::path ResultCache::path_of(std::string_view kind, std::string_view key) const {
  return folder_ / kind / (sha256_hex(key).substr(0, 32) + ".json");
}

std::optional<Json> ResultCache::find(std::string_view kind, std::string_view key) const {
  const auto text = read_file(path_of(kind, key));
  if (!text) return std::nullopt;
  const auto entry = parse_json(*text, "cache entry");
  if (!entry || !entry->is_object() || entry->value("key", "") != key || !entry->contains("value")) return std::nullopt;
  return entry->at("value");
}

void ResultCache::store(std::string_view kind, std::string_view key, const Json& value) const {
  try {
    const auto path = path_of(kind, key);
    make_folders(path.parent_path());
    write_file(path, Json{{"key", key}, {"value", value}}.dump(1));
  } catch (const Fault& fault) {
    log::warning(std::string("cache entry not kept: ") + fault.what());
  }
}

}  // namespace ww::judge
