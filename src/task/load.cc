// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "task/contract.h"
#include "task/nearest_name.h"
#include "task/task.h"

namespace ww::task {
namespace {

constexpr const char* kReferenceFile = "model.py";
constexpr const char* kSettingsFile = "task.toml";
constexpr uint64_t kLargestSource = 8u << 20;
constexpr uint64_t kLargestSettings = 1u << 20;

struct Place {
  std::string name;
  fs::path source;
  fs::path settings;  ///< may not exist: then the defaults hold
};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    paths.push_back(entry->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool defines_model(const fs::path& path) {
  const auto text = read_file(path, kLargestSource);
  if (!text) return false;
  for (size_t at = text->find("class Model"); at != std::string::npos; at = text->find("class Model", at + 1)) {
    const char next = at + 11 < text->size() ? (*text)[at + 11] : ' ';
    const bool at_line_start = at == 0 || (*text)[at - 1] == '\n';
    if (at_line_start && (next == '(' || next == ':' || next == ' ')) return true;
  }
  return false;
}

std::string folder_name(const fs::path& folder) {
  std::error_code ignored;
  fs::path full = fs::weakly_canonical(folder, ignored);
  if (!full.has_filename()) full = full.parent_path();
  return full.filename().string();
}

Result<Place> place_in_folder(const fs::path& folder) {
  const std::string name = folder_name(folder);
  if (is_file(folder / kReferenceFile)) return Place{name, folder / kReferenceFile, folder / kSettingsFile};
  std::vector<fs::path> found;
  for (const fs::path& path : entries(folder)) {
    if (path.extension() == ".py" && is_file(path) && defines_model(path)) found.push_back(path);
  }
  if (found.empty())
    return Error{"no task in this folder: no model.py, and no .py file that defines Model", folder.string()};
  if (found.size() > 1) {
    return Error{"more than one task in this folder (" + found[0].filename().string() + ", " +
                     found[1].filename().string() + "); name the file, or call the reference model.py",
                 folder.string()};
  }
  return Place{name, found[0], folder / kSettingsFile};
}

Place place_of_file(const fs::path& file) {
  if (file.filename() == kReferenceFile) {
    return Place{folder_name(fs::absolute(file).parent_path()), file, fs::path(file).replace_filename(kSettingsFile)};
  }
  // Many tasks may lie side by side in one folder (a suite), so a lone file has settings under its own name.
  return Place{file.stem().string(), file, fs::path(file).replace_extension(".toml")};
}

Result<Place> find_task(const std::string& where, const fs::path& tasks_root) {
  if (where.empty()) return Error{"no task named", ""};
  for (const fs::path& path : {fs::path(where), tasks_root / where, tasks_root / (where + ".py")}) {
    if (is_folder(path)) return place_in_folder(path);
    if (!is_file(path)) continue;
    if (path.extension() != ".py") return Error{"not a Python file (.py) and not a folder", path.string()};
    return place_of_file(path);
  }
  return Error{"no such file, folder or task" + did_you_mean(where, list_tasks(tasks_root)), where};
}

Result<std::string> read_source(const fs::path& path) {
  auto text = read_file(path, kLargestSource);
  if (!text || is_utf8(*text)) return text;
  size_t line = 1;
  size_t start = 0;
  for (size_t end = text->find('\n'); end != std::string::npos;
       start = end + 1, end = text->find('\n', start), line++) {
    if (!is_utf8(std::string_view(*text).substr(start, end - start))) break;
  }
  return Error{"not UTF-8", path.string() + ":" + std::to_string(line)};
}

std::string identify(const Task& task) {
  ContentHash hash;
  hash.add("warpwright.task/1").add(task.source).add(to_json(task.contract).dump());
  for (const Workload& workload : task.workloads) hash.add(workload.name).add(workload.set);
  return hash.hex();
}

}  // namespace

Result<Task> load_task(const std::string& where, const fs::path& tasks_root) {
  auto place = find_task(where, tasks_root);
  if (!place) return place.error();
  auto source = read_source(place->source);
  if (!source) return source.error();
  std::string toml;
  if (is_file(place->settings)) {
    auto text = read_file(place->settings, kLargestSettings);
    if (!text) return text.error();
    if (!is_utf8(*text)) return Error{"not UTF-8", place->settings.string()};
    toml = std::move(*text);
  }
  auto settings = parse_settings(toml, place->settings.string());
  if (!settings) return settings.error();
  Task task{
      place->name, place->source, std::move(*source), std::move(settings->contract), std::move(settings->workloads),
      ""};
  task.id = identify(task);
  return task;
}

std::vector<std::string> list_tasks(const fs::path& tasks_root) {
  std::vector<std::string> names;
  for (const fs::path& path : entries(tasks_root)) {
    if (is_folder(path) && place_in_folder(path)) names.push_back(path.filename().string());
    if (is_file(path) && path.extension() == ".py" && defines_model(path)) names.push_back(path.stem().string());
  }
  return names;
}

}  // namespace ww::task
