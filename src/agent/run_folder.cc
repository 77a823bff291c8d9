// SPDX-License-Identifier: Apache-2.0
#include "agent/run_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/fault.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"

namespace ww::agent {

namespace {

[[noreturn]] void cannot_create(const fs::path& path, int code) {
  throw Fault(code == ENOSPC ? Fault::Kind::kDisk : Fault::Kind::kSystem,
              fmt::format("creating the run folder {}: {}; name another place with --run FOLDER", path.string(),
                          std::strerror(code)),
              code);
}

void make_root(const fs::path& root) {
  std::error_code code;
  fs::create_directories(root, code);
  if (code) cannot_create(root, code.value());
}

}  // namespace

RunFolder RunFolder::create(const fs::path& root, const std::string& name) {
  make_root(root);
  for (;;) {
    const fs::path path = root / fmt::format("{}-{:04x}", name, random_word() & 0xffff);
    if (::mkdir(path.c_str(), 0755) == 0) return RunFolder(path);
    if (errno != EEXIST) cannot_create(path, errno);
  }
}

RunFolder RunFolder::create_at(const fs::path& path) {
  if (path.has_parent_path()) make_root(path.parent_path());
  if (::mkdir(path.c_str(), 0755) != 0) cannot_create(path, errno);
  return RunFolder(path);
}

Result<RunFolder> RunFolder::open(const fs::path& path) {
  RunFolder run(path);
  const auto settings = run.read_settings();
  if (!settings) return settings.error();
  return run;
}

RunFolder RunFolder::sample(int lane) const {
  if (lane == 0) return *this;
  const fs::path path = path_ / "samples" / fmt::format("{:02}", lane + 1);
  make_folders(path);
  return RunFolder(path);
}

void RunFolder::write_settings(Json settings) const {
  settings["schema"] = kRunSchema;
  try {
    write_file(path_ / "run.json", settings.dump(2) + "\n");
  } catch (const Fault&) {
    // Without it the folder is nothing that could be gone on with.
    std::error_code ignored;
    fs::remove(path_, ignored);
    throw;
  }
}

void RunFolder::write_result(Json result) const {
  result["schema"] = kRunSchema;
  write_file(path_ / "result.json", result.dump(2) + "\n");
}

bool RunFolder::has_result() const {
  std::error_code code;
  return fs::exists(path_ / "result.json", code);
}

Result<Json> RunFolder::read_settings() const { return read("run.json"); }
Result<Json> RunFolder::read_result() const { return read("result.json"); }

Result<Json> RunFolder::read(const char* name) const {
  const auto text = read_file(path_ / name);
  if (!text) return text.error();
  auto json = parse_json(*text, (path_ / name).string());
  if (!json) return json.error();
  if (!json->is_object() || json->value("schema", Json()) != kRunSchema) {
    return Error{fmt::format("is not of version {} of the run format", kRunSchema), (path_ / name).string()};
  }
  return json;
}

}  // namespace ww::agent
