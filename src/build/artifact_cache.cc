// SPDX-License-Identifier: Apache-2.0
#include "build/artifact_cache.h"

#include <sys/stat.h>

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
constexpr int kSchema = 1;
/// No build takes this long, so whoever wrote it is gone.
constexpr std::chrono::hours kAbandoned{1};

void remove_abandoned(const fs::path& aside) {
  const auto oldest = fs::file_time_type::clock::now() - kAbandoned;
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(aside, ignored)) {
    if (each.last_write_time(ignored) < oldest) fs::remove_all(each.path(), ignored);
  }
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

ArtifactCache::ArtifactCache(fs::path folder) : folder_(std::move(folder)), aside_(folder_ / "aside") {
  make_folders(aside_);
  remove_abandoned(aside_);
}

fs::path ArtifactCache::entry(const std::string& id) const { return folder_ / id.substr(0, 2) / id; }

std::optional<Artifact> ArtifactCache::find(const std::string& id) const {
  const std::optional<Artifact> artifact = read_entry(entry(id), id);
  if (!artifact) return std::nullopt;
  const Result<std::string> library = read_file(artifact->path, artifact->bytes);
  if (!library.ok() || library->size() != artifact->bytes || sha256_hex(*library) != artifact->sha256)
    return std::nullopt;
  return artifact;
}

Artifact ArtifactCache::store(const std::string& id, std::string_view library, const std::vector<std::string>& needs,
                              double compile_s) const {
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
  return artifact;
}

}  // namespace ww::build
