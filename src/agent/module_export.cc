// SPDX-License-Identifier: Apache-2.0
#include "agent/module_export.h"

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"

namespace ww::agent {

/// module_template.py, compiled in.
extern const std::string_view kModuleTemplate;

namespace {

constexpr std::string_view kFactsPlace = "@FACTS@";
constexpr const char* kLibraryName = "solution.so";

/// What module.py must know of each workload.
Result<Json> workload_facts(const Json& description, const verdict::Verdict& verdict) {
  if (!description.is_array() || description.size() != verdict.workloads.size()) {
    return Error{"the referee describes another number of workloads than were judged", "describe"};
  }
  Json workloads = Json::array();
  for (size_t i = 0; i < verdict.workloads.size(); i++) {
    const Json& reply = description[i];
    Json facts = {{"name", verdict.workloads[i].name}, {"config", verdict.workloads[i].config.value_or(0)}};
    for (const char* key : {"inputs", "weights", "outputs", "mutates", "init", "tree", "input_tree"}) {
      if (!reply.is_object() || !reply.contains(key))
        return Error{std::string("is missing"), std::string("describe.") + key};
      facts[key] = reply[key];
    }
    workloads.push_back(std::move(facts));
  }
  return workloads;
}

}  // namespace

Status export_module(const fs::path& folder, const task::Task& task, const Json& description,
                     const verdict::Verdict& verdict, const fs::path& library) {
  WW_CHECK(verdict.passed(), "only what passed is exported");
  const auto workloads = workload_facts(description, verdict);
  if (!workloads) return workloads.error();
  const Json facts = {{"task", task.name}, {"library", kLibraryName}, {"workloads", *workloads}};
  std::string module(kModuleTemplate);
  const size_t place = module.find(kFactsPlace);
  WW_CHECK(place != std::string::npos, "the template has a place for the facts");
  // ASCII only, and JSON never puts three quotes in a row: the text fits into Python's r"""...""".
  module.replace(place, kFactsPlace.size(), facts.dump(-1, ' ', true));

  make_folders(folder);
  std::error_code code;
  fs::remove(folder / kLibraryName, code);
  if (!fs::copy_file(library, folder / kLibraryName, code))
    throw_errno("copying the library to " + folder.string(), code.value());
  fs::permissions(folder / kLibraryName, fs::perms::owner_write, fs::perm_options::add, code);
  write_file(folder / "reference.py", task.source);
  write_file(folder / "module.py", module);
  return Unit{};
}

Json trial_request(const fs::path& folder, const task::Task& task) {
  Json workloads = Json::array();
  for (const auto& workload : task.workloads) {
    workloads.push_back({{"name", workload.name}, {"set", parse_own_json(workload.set)}});
  }
  return {{"folder", fs::absolute(folder).string()},
          {"filename", task.source_path.filename().string()},
          {"source", task.source},
          {"contract", task::to_json(task.contract)},
          {"workloads", workloads}};
}

}  // namespace ww::agent
