// SPDX-License-Identifier: Apache-2.0
#include "task/contract.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/toml.h"
#include "task/nearest_name.h"

namespace ww::task {
namespace {

template <class Enum, size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<Precision, 4> kPrecisions = {
    {{Precision::kFp32, "fp32"}, {Precision::kTf32, "tf32"}, {Precision::kFp16, "fp16"}, {Precision::kBf16, "bf16"}}};
constexpr Names<Mode, 3> kModes = {{{Mode::kSource, "source"}, {Mode::kEval, "eval"}, {Mode::kTrain, "train"}}};
constexpr Names<ClockPolicy, 2> kClocks = {{{ClockPolicy::kGuarded, "guarded"}, {ClockPolicy::kDevice, "device"}}};

const std::vector<std::string> kKeys = {"precision",        "mode",     "clock", "mutates", "allow",
                                        "redraw_constants", "workloads"};
const std::vector<std::string> kWorkloadKeys = {"name", "set"};
const std::vector<std::string> kLibraries = {"cublas", "cudnn", "dnnl", "torch"};

template <class Enum, size_t N>
std::string_view name_of(Enum value, const Names<Enum, N>& names) {
  for (const auto& [candidate, text] : names) {
    if (candidate == value) return text;
  }
  WW_CHECK(false, "an enumerator outside its table");
  __builtin_unreachable();
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

Status check_keys(const Json& table, const std::vector<std::string>& known, const std::string& where) {
  for (const auto& [key, value] : table.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return Error{"unknown key " + in_quotes(key) + did_you_mean(key, known), where};
    }
  }
  return Unit{};
}

template <class Enum, size_t N>
Status read_choice(const Json& table, const std::string& key, const Names<Enum, N>& names, Enum& value,
                   const std::string& where) {
  if (!table.contains(key)) return Unit{};
  std::vector<std::string> choices;
  for (const auto& [candidate, text] : names) {
    if (table[key].is_string() && table[key].get<std::string>() == text) {
      value = candidate;
      return Unit{};
    }
    choices.emplace_back(text);
  }
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ", ") + choice;
  const std::string given = table[key].is_string() ? table[key].get<std::string>() : table[key].dump();
  return Error{key + " is " + in_quotes(given) + ", which is none of " + list + did_you_mean(given, choices), where};
}

Status read_words(const Json& table, const std::string& key, std::vector<std::string>& words,
                  const std::string& where) {
  if (!table.contains(key)) return Unit{};
  const Json& list = table[key];
  const auto is_word = [](const Json& item) { return item.is_string(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_word)) {
    return Error{key + " is not a list of strings", where};
  }
  words = list.get<std::vector<std::string>>();
  return Unit{};
}

bool is_constant(const Json& value) {
  if (value.is_array()) return std::all_of(value.begin(), value.end(), is_constant);
  return value.is_number() || value.is_boolean() || value.is_string();
}

Result<Workload> parse_workload(const Json& table, const std::string& where) {
  if (!table.is_object()) return Error{"a workload that is not a table", where};
  if (auto known = check_keys(table, kWorkloadKeys, where); !known) return known.error();
  Workload workload;
  if (!table.contains("name") || !table["name"].is_string() || table["name"].get<std::string>().empty()) {
    return Error{"a workload without a name", where};
  }
  workload.name = table["name"].get<std::string>();
  if (table.contains("set")) {
    if (!table["set"].is_object()) return Error{"set is not a table", where + ": workload " + in_quotes(workload.name)};
    for (const auto& [key, value] : table["set"].items()) {
      if (is_constant(value)) continue;
      return Error{"set." + key + " is not a number, string, boolean or list of them",
                   where + ": workload " + in_quotes(workload.name)};
    }
    workload.set = table["set"].dump();
  }
  return workload;
}

Status read_workloads(const Json& table, std::vector<Workload>& workloads, const std::string& where) {
  if (!table.contains("workloads")) {
    workloads.emplace_back();
    return Unit{};
  }
  if (!table["workloads"].is_array() || table["workloads"].empty()) {
    return Error{"workloads is not a list of tables ([[workloads]])", where};
  }
  std::set<std::string> seen;
  for (const Json& item : table["workloads"]) {
    auto workload = parse_workload(item, where);
    if (!workload) return workload.error();
    if (!seen.insert(workload->name).second) return Error{"two workloads named " + in_quotes(workload->name), where};
    workloads.push_back(std::move(*workload));
  }
  return Unit{};
}

}  // namespace

std::string_view name(Precision precision) { return name_of(precision, kPrecisions); }
std::string_view name(Mode mode) { return name_of(mode, kModes); }
std::string_view name(ClockPolicy clock) { return name_of(clock, kClocks); }

Json to_json(const Contract& contract) {
  return {{"precision", name(contract.precision)},
          {"mode", name(contract.mode)},
          {"clock", name(contract.clock)},
          {"mutates", contract.mutates},
          {"allow", contract.allow},
          {"redraw_constants", contract.redraw_constants}};
}

Result<Settings> parse_settings(const std::string& toml, const std::string& where) {
  auto table = parse_toml(toml, where);
  if (!table) return table.error();
  Settings settings;
  Contract& contract = settings.contract;
  for (const Status& status :
       {check_keys(*table, kKeys, where), read_choice(*table, "precision", kPrecisions, contract.precision, where),
        read_choice(*table, "mode", kModes, contract.mode, where),
        read_choice(*table, "clock", kClocks, contract.clock, where),
        read_words(*table, "mutates", contract.mutates, where), read_words(*table, "allow", contract.allow, where),
        read_workloads(*table, settings.workloads, where)}) {
    if (!status) return status.error();
  }
  for (const std::string& library : contract.allow) {
    if (std::find(kLibraries.begin(), kLibraries.end(), library) != kLibraries.end()) continue;
    return Error{"allow names the unknown library " + in_quotes(library) + did_you_mean(library, kLibraries), where};
  }
  if (table->contains("redraw_constants")) {
    if (!(*table)["redraw_constants"].is_boolean()) return Error{"redraw_constants is not true or false", where};
    contract.redraw_constants = (*table)["redraw_constants"].get<bool>();
  }
  return settings;
}

}  // namespace ww::task
