// SPDX-License-Identifier: Apache-2.0
#include "build/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/fault.h"
#include "base/files.h"
#include "base/hash.h"
#include "build/artifact_cache.h"
#include "build/compile.h"
#include "build/diagnostics.h"
#include "build/library_check.h"
#include "build/refusal.h"
#include "build/sources.h"
#include "build/toolchain.h"
#include "warpwright/solution.h"

namespace ww::build {
namespace {

constexpr char kHeader[] = "warpwright/solution.h";
/// Part of every content address: raise it when what a build does changes without its flags changing.
constexpr char kRecipe[] = "cpu-native-1";

std::vector<Header> read_headers(const fs::path& include_folder) {
  Result<std::string> text = read_file(include_folder / kHeader);
  if (!text.ok()) throw Fault(Fault::Kind::kMissing, text.error().text());
  return {{kHeader, *std::move(text)}};
}

bool allows_dnnl(const task::Contract& contract) {
  return std::ranges::find(contract.allow, "dnnl") != contract.allow.end();
}

constexpr size_t kNamesShown = 5;

/// "" where every file that looks like source is compiled.
std::string note_left_out(const Sources& sources) {
  std::vector<std::string> names = sources.left_out();
  if (names.empty()) return "";
  const size_t more = names.size() - std::min(names.size(), kNamesShown);
  names.resize(names.size() - more);
  return fmt::format(
      "not compiled: {}{}; device cpu compiles kernels/*.cpp as C++, every other file is only included\n",
      fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

/// Names what is there instead, where there is something.
void require_units(const Sources& sources) {
  if (!sources.units().empty()) return;
  if (sources.files.empty()) refuse(Failure::Kind::kBuildError, "kernels/ is empty; device cpu compiles kernels/*.cpp");
  const std::string note = note_left_out(sources);
  refuse(Failure::Kind::kBuildError, fmt::format("kernels/ holds {} but no .cpp file directly in it\n{}",
                                                 printable(sources.files.front().name.substr(8)),
                                                 note.empty() ? "device cpu compiles kernels/*.cpp\n" : note));
}

/// compile(), with a word about the files that a linker may miss.
std::string compile_all(const Sources& sources, const std::vector<Header>& headers, const Toolchain& toolchain,
                        bool link_dnnl, const Limits& limits) {
  try {
    return compile(sources, headers, toolchain, link_dnnl, limits);
  } catch (Refusal& refusal) {
    std::string& text = refusal.failure.text;
    if (const std::string note = note_left_out(sources); !note.empty()) {
      text += (text.ends_with('\n') ? "" : "\n") + note;
    }
    throw;
  }
}

}  // namespace

struct Builder::State {
  Settings settings;
  Toolchain toolchain;
  std::vector<Header> headers;
  ArtifactCache cache;

  explicit State(Settings given)
      : settings(std::move(given)),
        toolchain(find_toolchain(settings.compiler)),
        headers(read_headers(settings.include_folder)),
        cache(settings.cache_folder, settings.cache_limit_bytes) {
    remove_abandoned_builds();
  }

  bool links_dnnl(const task::Contract& contract) const { return toolchain.has_dnnl && allows_dnnl(contract); }

  std::string artifact_id(const Sources& sources, const task::Contract& contract) const {
    ContentHash hash;
    hash.add(kRecipe).add(std::to_string(WW_ABI_VERSION)).add(toolchain.identity);
    for (const Header& header : headers) hash.add(header.name).add(header.bytes);
    for (const std::string& flag : compile_flags()) hash.add(flag);
    for (const std::string& flag : link_flags(links_dnnl(contract))) hash.add(flag);
    return hash.add(sources.id).hex();
  }

  Artifact build(const Sources& sources, const task::Contract& contract) const {
    require_units(sources);
    const std::string id = artifact_id(sources, contract);
    if (auto artifact = cache.find(id)) return *artifact;
    const nanoseconds start = now();
    const std::string library = compile_all(sources, headers, toolchain, links_dnnl(contract), settings.limits);
    const double compile_s = to_seconds(now() - start);
    const Library checked = check_library(library, allows_dnnl(contract));
    return cache.store(id, library, checked.needs, compile_s);
  }
};

Builder::Builder(Settings settings) : state_(std::make_unique<const State>(std::move(settings))) {}

Builder::~Builder() = default;

BuildResult Builder::build(const fs::path& solution, const task::Contract& contract) const {
  BuildResult built;
  try {
    const Sources sources = read_sources(solution, state_->settings.limits);
    built.solution_id = sources.id;
    built.result = state_->build(sources, contract);
  } catch (Refusal& refusal) {
    built.result = std::move(refusal.failure);
  }
  return built;
}

std::vector<std::string> Builder::command(const task::Contract& contract, const std::vector<std::string>& sources,
                                          const std::string& output) const {
  return compile_and_link_command(state_->toolchain, sources, output, state_->links_dnnl(contract));
}

}  // namespace ww::build
