// SPDX-License-Identifier: Apache-2.0
#include "judge/python_sandbox.h"

#include <algorithm>
#include <vector>

#include "base/child.h"
#include "base/fault.h"
#include "base/json.h"

namespace ww::judge {
namespace {

namespace fs = std::filesystem;

constexpr milliseconds kProbeLimit(20'000);

// Asked of the interpreter itself, because virtual environments, system packages and relocated builds all differ.
constexpr const char* kFoldersProgram =
    "import json, os, sys\n"
    "found = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))]\n"
    "print(json.dumps([p for p in found + sys.path if os.path.isdir(p)]))\n";

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

/// Folders the interpreter reads, none of them inside another or in /usr.
std::vector<fs::path> python_folders(const fs::path& python) {
  const ChildResult asked = run_child({python.string(), "-I", "-c", kFoldersProgram}, kProbeLimit);
  if (asked.exit_code != 0) {
    throw Fault(Fault::Kind::kMissing,
                "cannot run " + python.string() + ": " + (asked.timed_out ? "it does not answer" : asked.errors));
  }
  const auto list = parse_json(asked.output, python.string());
  if (!list || !list->is_array())
    throw Fault(Fault::Kind::kProtocol, python.string() + " gives no list of its folders");
  std::vector<fs::path> folders;
  for (const Json& item : *list) folders.emplace_back(item.get<std::string>());
  std::sort(folders.begin(), folders.end());
  std::vector<fs::path> kept;
  for (const fs::path& folder : folders) {
    const auto covers = [&](const fs::path& other) { return is_below(folder, other); };
    if (!is_below(folder, "/usr") && std::none_of(kept.begin(), kept.end(), covers)) kept.push_back(folder);
  }
  return kept;
}

}  // namespace

void add_python(sandbox::Spec& spec, const fs::path& python) {
  for (const fs::path& folder : python_folders(python)) spec.mounts.push_back({.host = folder});
}

}  // namespace ww::judge
