// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/statvfs.h>

#include "base/child.h"
#include "base/fault.h"
#include "base/files.h"
#include "base/json.h"
#include "build/builder.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/text.h"
#include "sandbox/isolation.h"

namespace ww::cli {
namespace {

/// What stands in the way, each with how to get it. Empty: everything is there.
using Advice = std::vector<std::string>;

Json isolation_facts(Advice& advice) {
  const sandbox::Isolation& isolation = sandbox::probe();
  Json layers = Json::object();
  for (const auto& layer : isolation.layers) {
    layers[layer.name] = (layer.present ? "" : "no: ") + (layer.detail.empty() ? "yes" : layer.detail);
    // A layer that nothing here needs counts as no loss: then the whole is still full.
    if (!layer.present && isolation.summary() != "full") {
      advice.push_back(
          fmt::format("isolation layer {} is missing ({}): verdicts say so; run where the kernel and the "
                      "container allow it, as root if need be",
                      layer.name, layer.detail));
    }
  }
  return {{"level", isolation.summary()}, {"layers", layers}};
}

Json compiler_facts(Advice& advice) {
  const ChildResult version = run_child({"g++", "-dumpfullversion"}, milliseconds(10'000));
  if (version.exit_code != 0) {
    advice.push_back("no g++: solutions cannot be built; install it (apt-get install g++)");
    return {{"g++", Json()}};
  }
  return {{"g++", version.output.substr(0, version.output.find('\n'))}};
}

/// Requires: the cache can be written.
Json judge_facts(const Environment& environment, bool& can_judge, Advice& advice) {
  std::error_code code;
  if (!fs::exists(environment.programs / "ww-runner", code)) {
    can_judge = false;
    advice.push_back("no ww-runner beside " + (environment.programs / "ww").string() + ": build it (./ww setup)");
  }
  if (!fs::exists(environment.python, code)) {
    can_judge = false;
    advice.push_back("no Python at " + environment.python.string() +
                     ": run ./ww setup, or set WW_PYTHON to an interpreter with torch >= 2.9");
    return {};
  }
  Json facts = judge::Judge(environment.judge_settings()).facts();
  if (facts.contains("referee_fault")) {
    can_judge = false;
    advice.push_back("the referee does not start: " + facts["referee_fault"].get<std::string>());
  }
  return facts;
}

Json folder_facts(const Environment& environment, bool& can_judge, Advice& advice) {
  Json facts = {{"home", environment.home.string()},
                {"programs", environment.programs.string()},
                {"python", environment.python.string()},
                {"cache", environment.cache.string()}};
  facts["cache_writable"] = true;
  try {
    make_folders(environment.cache);
    const TemporaryFolder tried("doctor", environment.cache);
  } catch (const Fault& fault) {
    facts["cache_writable"] = can_judge = false;
    advice.push_back(std::string("the cache cannot be written: ") + fault.what() +
                     "; XDG_CACHE_HOME names another place");
  }
  const build::CacheUse use = build::measure_cache(environment.judge_settings().build().cache_folder);
  facts["artifacts"] = {{"entries", use.entries},
                        {"megabytes", (use.bytes + (1 << 20) - 1) >> 20},
                        {"limit_megabytes", environment.cache_limit_bytes >> 20}};
  struct statvfs disk = {};
  if (::statvfs(environment.cache.c_str(), &disk) == 0) {
    const double free_gb = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / 1e9;
    facts["free_gb"] = static_cast<int64_t>(free_gb);
    if (free_gb < 1) advice.push_back(fmt::format("only {:.1f} GB are free for the cache", free_gb));
  }
  return facts;
}

}  // namespace

int run_doctor(const DoctorOptions& options, const Environment& environment) {
  Progress progress;
  progress.show("looking at the machine", 0, {});
  Advice advice;
  bool can_judge = true;
  Json facts = {{"version", WW_VERSION}, {"isolation", isolation_facts(advice)}};
  const Json compiler = compiler_facts(advice);
  can_judge = !compiler["g++"].is_null();
  facts["folders"] = folder_facts(environment, can_judge, advice);
  facts["compiler"] = compiler;
  if (facts["folders"]["cache_writable"]) facts["judge"] = judge_facts(environment, can_judge, advice);
  facts["missing"] = advice;
  facts["can_judge"] = can_judge;
  progress.clear();
  if (options.json) {
    print_document(facts);
  } else {
    print(report::facts_text(facts, environment.style()));
  }
  return can_judge ? kExitPass : kExitFault;
}

}  // namespace ww::cli
