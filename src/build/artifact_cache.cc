// SPDX-License-Identifier: Apache-2.0
#include "build/artifact_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "base/fault.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"

namespace ww::build {
namespace {

constexpr char kLibrary[] = "solution.so";
constexpr char kEntry[] = "entry.json";
constexpr char kAside[] = "aside";
constexpr uint64_t kShards = 256;  // two hexadecimal digits
constexpr int kSchema = 1;
using FileTime = fs::file_time_type;

/// An entry as eviction sees it.
struct Tenant {
  fs::path folder;
  FileTime used;
  uint64_t bytes = 0;
};

FileTime last_used(const fs::path& folder) {
  std::error_code code;
  const FileTime time = fs::last_write_time(folder / kEntry, code);
  return code ? FileTime::min() : time;
}

/// Disk space as the file system counts it, of the files directly in `folder`.
uint64_t disk_bytes(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder, ignored)) {
    struct stat info;
    if (::lstat(file.path().c_str(), &info) == 0) bytes += uint64_t(info.st_blocks) * 512;
  }
  return bytes;
}

std::vector<Tenant> tenants_of(const fs::path& shard) {
  std::vector<Tenant> tenants;
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(shard, ignored))
    tenants.push_back({each.path(), last_used(each.path()), disk_bytes(each.path())});
  return tenants;
}

/// The entry as its file describes it; nullopt for anything that is not exactly what store() writes.
std::optional<Artifact> read_entry(const fs::path& folder, const std::string& id) {
  const Result<std::string> text = read_file(folder / kEntry);
  if (!text.ok()) return std::nullopt;
  const Result<Json> json = parse_json(*text, kEntry);
  if (!json.ok() || !json->is_object() || json->value("schema", 0) != kSchema) return std::nullopt;
  try {
    return Artifact{.path = folder / kLibrary,
                    .id = id,
                    .sha256 = json->at("sha256").get<std::string>(),
                    .bytes = json->at("bytes").get<uint64_t>(),
                    .compile_s = json->at("compile_s").get<double>(),
                    .cached = true,
                    .needs = json->at("needs").get<std::vector<std::string>>()};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

ArtifactCache::ArtifactCache(fs::path folder, uint64_t limit_bytes)
    : folder_(std::move(folder)), aside_(folder_ / kAside), shard_limit_bytes_(limit_bytes / kShards) {
  make_folders(aside_);
  remove_abandoned(aside_, "");
}

fs::path ArtifactCache::entry(const std::string& id) const { return folder_ / id.substr(0, 2) / id; }

std::optional<Artifact> ArtifactCache::find(const std::string& id) const {
  // Before it is read: from here on nobody evicts it, or the reading shows that somebody did.
  std::error_code not_ours;
  fs::last_write_time(entry(id) / kEntry, FileTime::clock::now(), not_ours);
  const std::optional<Artifact> artifact = read_entry(entry(id), id);
  if (!artifact) return std::nullopt;
  const Result<std::string> library = read_file(artifact->path, artifact->bytes);
  if (!library.ok() || library->size() != artifact->bytes || sha256_hex(*library) != artifact->sha256)
    return std::nullopt;
  return artifact;
}

Artifact ArtifactCache::store(const std::string& id, std::string_view library, const std::vector<std::string>& needs,
                              double compile_s) const {
  make_folders(aside_);  // somebody may have deleted the cache since
  TemporaryFolder aside("build", aside_);
  Artifact artifact{.path = entry(id) / kLibrary,
                    .id = id,
                    .sha256 = sha256_hex(library),
                    .bytes = library.size(),
                    .compile_s = compile_s,
                    .cached = false,
                    .needs = needs};
  const Json json = {{"schema", kSchema},
                     {"sha256", artifact.sha256},
                     {"bytes", artifact.bytes},
                     {"compile_s", compile_s},
                     {"needs", needs}};
  write_file(aside.path() / kLibrary, library);
  write_file(aside.path() / kEntry, json.dump(1) + "\n");
  if (::chmod(aside.path().c_str(), 0755) != 0) throw_errno("preparing " + aside.path().string());
  make_folders(entry(id).parent_path());
  while (::rename(aside.path().c_str(), entry(id).c_str()) != 0) {
    if (errno != ENOTEMPTY && errno != EEXIST) throw_errno("renaming to " + entry(id).string());
    if (auto other = find(id)) return *other;
    std::error_code ignored;  // another process may be replacing the same broken entry
    fs::remove_all(entry(id), ignored);
  }
  aside.release();
  evict(entry(id).parent_path());
  return artifact;
}

/// Best effort, and nobody's fault: what cannot be removed stays.
void ArtifactCache::evict(const fs::path& shard) const {
  std::vector<Tenant> tenants = tenants_of(shard);
  std::ranges::sort(tenants, {}, &Tenant::used);
  uint64_t bytes = 0;
  for (const Tenant& tenant : tenants) bytes += tenant.bytes;
  const FileTime in_use = FileTime::clock::now() - kInUse;
  for (const Tenant& tenant : tenants) {
    if (bytes <= shard_limit_bytes_ || tenant.used > in_use) return;
    const TemporaryFolder outgoing("evicted", aside_);
    const fs::path moved = outgoing.path() / "entry";
    if (::rename(tenant.folder.c_str(), moved.c_str()) != 0) continue;
    bytes -= tenant.bytes;
    // Somebody found it while it was being taken away: back, unless it has been built anew meanwhile.
    if (last_used(moved) != tenant.used) ::rename(moved.c_str(), tenant.folder.c_str());
  }
}

CacheUse measure_cache(const fs::path& folder) {
  CacheUse use;
  std::error_code ignored;
  for (const auto& shard : fs::directory_iterator(folder, ignored)) {
    if (shard.path().filename() == kAside) continue;
    for (const Tenant& tenant : tenants_of(shard.path())) {
      use.entries++;
      use.bytes += tenant.bytes;
    }
  }
  return use;
}

}  // namespace ww::build
