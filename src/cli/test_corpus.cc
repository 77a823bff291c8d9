// SPDX-License-Identifier: Apache-2.0
#include "cli/test_corpus.h"

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/toml.h"

namespace ww::cli {
namespace {

/// Reads the keys of one TOML file and complains about the first that is wrong, missing or left over.
class Table {
 public:
  explicit Table(const fs::path& file) : where_(file.string()) {
    const auto text = read_file(file);
    auto json = text ? parse_toml(*text, where_) : Result<Json>(text.error());
    if (json) {
      json_ = std::move(*json);
    } else {
      fail(json.error().message);
    }
  }

  bool has(const std::string& key) const { return json_.contains(key); }

  std::string text(const std::string& key, std::optional<std::string> otherwise = {}) {
    return value<std::string>(key, std::move(otherwise), &Json::is_string, "a string");
  }
  int64_t number(const std::string& key, std::optional<int64_t> otherwise = {}) {
    return value<int64_t>(key, otherwise, &Json::is_number_integer, "a whole number");
  }
  bool flag(const std::string& key) { return value<bool>(key, false, &Json::is_boolean, "true or false"); }

  std::vector<std::string> texts(const std::string& key) {
    std::vector<std::string> list;
    if (!has(key)) return list;
    const Json taken = take(key);
    if (!taken.is_array() || !std::all_of(taken.begin(), taken.end(), [](const Json& e) { return e.is_string(); })) {
      fail(key + " is not a list of strings");
      return list;
    }
    return taken.get<std::vector<std::string>>();
  }

  void refuse(const std::string& message) { fail(message); }

  /// The first complaint; unknown keys are one.
  std::optional<Error> error() {
    if (error_.empty() && !json_.empty()) fail("unknown key " + json_.begin().key());
    if (error_.empty()) return std::nullopt;
    return Error{error_, where_};
  }

 private:
  template <class T>
  T value(const std::string& key, std::optional<T> otherwise, bool (Json::*is_right)() const noexcept,
          const std::string& what) {
    if (!has(key)) {
      if (!otherwise) fail("no " + key);
      return otherwise.value_or(T{});
    }
    const Json taken = take(key);
    if ((taken.*is_right)()) return taken.get<T>();
    fail(key + " is not " + what);
    return T{};
  }

  Json take(const std::string& key) {
    Json taken = json_[key];
    json_.erase(key);
    return taken;
  }

  void fail(const std::string& message) {
    if (error_.empty()) error_ = message;
  }

  std::string where_, error_;
  Json json_ = Json::object();
};

std::optional<verdict::Outcome> outcome_of(Table& table, const std::string& text) {
  const auto outcome = verdict::outcome_from_name(text);
  if (!outcome) table.refuse("unknown outcome " + text);
  return outcome;
}

void read_solution(Table& table, CorpusEntry& entry) {
  entry.task = table.text("task");
  entry.summary = table.text("summary");
  entry.workloads = table.texts("workloads");
  entry.time_cap = milliseconds(table.number("time_cap_ms", entry.time_cap.count()));
  entry.judgings = static_cast<int>(table.number("judgings", 1));
}

void read_hostility(Table& table, CorpusEntry& entry) {
  entry.hostile = true;
  entry.family = table.text("family");
  for (const std::string& text : table.texts("outcomes")) {
    if (const auto outcome = outcome_of(table, text)) entry.outcomes.push_back(*outcome);
  }
  entry.control = table.text("control", "");
  entry.forbidden_act = table.flag("forbidden_act");
  if (entry.outcomes.empty()) table.refuse("no outcomes");
  if (entry.control.empty() != entry.forbidden_act) table.refuse("either control or forbidden_act is needed, not both");
  const bool may_pass = std::count(entry.outcomes.begin(), entry.outcomes.end(), verdict::Outcome::kPass) > 0;
  if (entry.forbidden_act && may_pass) table.refuse("an attack with forbidden_act may not pass");
}

CaseKind case_kind(Table& table) {
  const std::string kind = table.text("kind");
  if (kind == "task-check") return CaseKind::kTaskCheck;
  if (kind == "judge") return CaseKind::kJudge;
  if (kind == "script") return CaseKind::kScript;
  if (kind != "cli") table.refuse("kind is none of task-check, judge, cli, script");
  return CaseKind::kCli;
}

/// A path that the case's folder holds, or else the text itself.
std::string place(const fs::path& folder, const std::string& text) {
  std::error_code ignored;
  const fs::path inside = folder / text;
  return fs::exists(fs::symlink_status(inside, ignored)) ? inside.string() : text;
}

void read_case(Table& table, Case& entry) {
  entry.summary = table.text("summary");
  entry.kind = case_kind(table);
  entry.task = place(entry.folder, table.text("task", "task"));
  entry.solution = place(entry.folder, table.text("solution", "solution"));
  entry.arguments = table.texts("args");
  if (table.has("exit")) entry.exit = static_cast<int>(table.number("exit"));
  if (table.has("outcome")) entry.outcome = outcome_of(table, table.text("outcome"));
  entry.message = table.text("message", "");
  entry.limit = milliseconds(1000 * table.number("limit_s", 15));
  if (entry.kind != CaseKind::kJudge && !entry.exit) table.refuse("no exit");
}

/// One T for each folder under `folder` that holds `file`, read by `read`.
template <class T, class Read>
Result<std::vector<T>> read_all(const fs::path& folder, const char* file, const Read& read) {
  std::vector<T> all;
  std::error_code failure;
  for (const auto& item : fs::directory_iterator(folder, failure)) {
    if (!fs::exists(item.path() / file)) continue;
    T entry;
    entry.name = item.path().filename().string();
    entry.folder = item.path();
    Table table(item.path() / file);
    read(table, entry);
    if (const auto error = table.error()) return *error;
    all.push_back(std::move(entry));
  }
  if (failure) return Error{failure.message(), folder.string()};
  std::sort(all.begin(), all.end(), [](const T& a, const T& b) { return a.name < b.name; });
  return all;
}

}  // namespace

Result<std::vector<CorpusEntry>> read_attacks(const fs::path& folder) {
  return read_all<CorpusEntry>(folder, "attack.toml", [](Table& table, CorpusEntry& entry) {
    read_solution(table, entry);
    read_hostility(table, entry);
  });
}

Result<std::vector<CorpusEntry>> read_twins(const fs::path& folder) {
  return read_all<CorpusEntry>(folder, "twin.toml", read_solution);
}

Result<std::vector<Case>> read_cases(const fs::path& folder) { return read_all<Case>(folder, "case.toml", read_case); }

Result<task::Task> load_entry_task(const CorpusEntry& entry, const fs::path& repository) {
  const bool is_name = entry.task.find('/') == std::string::npos;
  auto task = task::load_task(is_name ? entry.task : (repository / entry.task).string(), repository / "tasks");
  if (!task || entry.workloads.empty()) return task;
  ContentHash hash;
  hash.add(task->id);
  std::vector<task::Workload> chosen;
  for (const std::string& name : entry.workloads) {
    const auto found = std::find_if(task->workloads.begin(), task->workloads.end(),
                                    [&](const task::Workload& each) { return each.name == name; });
    if (found == task->workloads.end()) return Error{"task " + task->name + " has no workload " + name, entry.name};
    chosen.push_back(*found);
    hash.add(name);
  }
  task->workloads = std::move(chosen);
  task->id = hash.hex();
  return task;
}

}  // namespace ww::cli
