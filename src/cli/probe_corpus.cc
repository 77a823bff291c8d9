// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "base/toml.h"

namespace ww::cli {
namespace {

constexpr const char* kPrograms[] = {"probe.cc", "probe.sh"};

std::optional<Sign> sign_named(const std::string& text) {
  if (text == "exit") return Sign::kExit;
  if (text == "grows") return Sign::kGrows;
  if (text == "output") return Sign::kOutput;
  return std::nullopt;
}

/// One [[probe]]; the error is a complaint without a place.
Result<Probe> read_probe(const Json& table) {
  Probe probe;
  for (const auto& [key, value] : table.items()) {
    if ((key == "wall_ms" || key == "cpu_ms") && value.is_number_integer()) {
      (key == "wall_ms" ? probe.wall : probe.cpu) = milliseconds(value.get<int64_t>());
      continue;
    }
    if (!value.is_string()) return Error{key + " is unknown or of the wrong type", ""};
    const std::string text = value.get<std::string>();
    if (key == "name") {
      probe.name = text;
    } else if (key == "layer") {
      probe.layer = text;
    } else if (key == "summary") {
      probe.summary = text;
    } else if (key == "after" && sign_named(text)) {
      probe.sign = *sign_named(text);
    } else {
      return Error{"unknown " + key + " " + text, ""};
    }
  }
  if (probe.name.empty() || probe.layer.empty() || probe.summary.empty()) {
    return Error{"a probe needs name, layer and summary", ""};
  }
  return probe;
}

Status add_folder(const fs::path& folder, std::vector<Probe>& probes) {
  const fs::path file = folder / "probes.toml";
  const auto text = read_file(file);
  if (!text) return text.error();
  const auto table = parse_toml(*text, file.string());
  if (!table) return table.error();
  fs::path program;
  for (const char* candidate : kPrograms) {
    if (fs::exists(folder / candidate)) program = folder / candidate;
  }
  if (program.empty()) return Error{"has neither probe.cc nor probe.sh", folder.string()};
  if (table->size() != 1 || !table->contains("probe") || !(*table)["probe"].is_array()) {
    return Error{"holds something else than a list of [[probe]]", file.string()};
  }
  for (const Json& entry : (*table)["probe"]) {
    auto probe = read_probe(entry);
    if (!probe) return Error{probe.error().message, file.string()};
    probe->kind = folder.filename().string();
    probe->program = program;
    probes.push_back(std::move(*probe));
  }
  return Unit{};
}

}  // namespace

Result<std::vector<Probe>> read_probes(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (fs::exists(entry.path() / "probes.toml")) folders.push_back(entry.path());
  }
  if (code) return Error{code.message(), folder.string()};
  std::sort(folders.begin(), folders.end());
  std::vector<Probe> probes;
  for (const fs::path& each : folders) {
    if (auto added = add_folder(each, probes); !added) return added.error();
  }
  std::set<std::string> names;
  for (const Probe& probe : probes) {
    if (!names.insert(probe.name).second) return Error{"there are two probes named " + probe.name, folder.string()};
  }
  return probes;
}

}  // namespace ww::cli
