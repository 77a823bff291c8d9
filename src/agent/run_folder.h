// SPDX-License-Identifier: Apache-2.0
//
// The folder of one `optimize` run: docs/formats/run.md. Whatever is in it is complete at any moment, so a run that was
// killed is continued from it.
#pragma once

#include <filesystem>
#include <string>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ww::agent {

inline constexpr int kRunSchema = 1;

class RunFolder {
 public:
  /// A new folder `root`/NAME-xxxx. Throws Fault naming what cannot be written.
  static RunFolder create(const std::filesystem::path& root, const std::string& name);
  /// A new folder at exactly this path. Throws Fault, also where it exists.
  static RunFolder create_at(const std::filesystem::path& path);
  /// An existing one. Error where `path` is none or of an unknown version.
  static Result<RunFolder> open(const std::filesystem::path& path);

  /// Where episode `lane` of the run works: 0 in the folder itself, others in samples/NN, which is made if missing.
  RunFolder sample(int lane) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path episode() const { return path_ / "episode.jsonl"; }
  std::filesystem::path workspace() const { return path_ / "workspace"; }
  std::filesystem::path attempts() const { return path_ / "attempts"; }
  std::filesystem::path winner() const { return path_ / "winner"; }

  /// run.json: what was asked for. Written once. Throws Fault.
  void write_settings(Json settings) const;
  Result<Json> read_settings() const;
  /// result.json: what came of it; there once the run is over. Throws Fault.
  void write_result(Json result) const;
  bool has_result() const;
  Result<Json> read_result() const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  Result<Json> read(const char* name) const;

  std::filesystem::path path_;
};

}  // namespace ww::agent
