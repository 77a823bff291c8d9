// SPDX-License-Identifier: Apache-2.0
//
// What lies under tests/: attacks, honest twins and cases, as their TOML files describe them (tests/attacks/README.md,
// tests/cases/README.md). Reading only; plain data.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "task/task.h"
#include "verdict/verdict.h"

namespace ww::cli {

namespace fs = std::filesystem;

/// A solution and what judging it must say.
struct CorpusEntry {
  std::string name;  ///< of its folder, which is the solution
  fs::path folder;
  std::string task;  ///< a name under tasks/, or a path from the repository's root
  std::string summary;
  std::vector<std::string> workloads;      ///< of the task, these only
  milliseconds time_cap{400};              ///< of judging a workload
  int judgings = 1;                        ///< one after another; the last one counts
  bool hostile = false;                    ///< false: an honest twin, which must pass
  std::string family;                      ///< of cheats, "D01"
  std::vector<verdict::Outcome> outcomes;  ///< the only ones this attack may get
  std::string control;                     ///< twin that does the same work honestly; "" with forbidden_act
  bool forbidden_act = false;              ///< right only if a forbidden act succeeded: a pass is an acceptance
};

enum class CaseKind { kTaskCheck, kJudge, kCli, kScript };

/// A wrong or unusual task or solution and what is to be said about it.
struct Case {
  std::string name;
  fs::path folder;
  std::string summary;
  CaseKind kind = CaseKind::kTaskCheck;
  std::string task, solution;               ///< paths; a relative one lies in the folder, or is a name under tasks/
  std::vector<std::string> arguments;       ///< kCli: of the program; {case} is the folder
  std::optional<int> exit;                  ///< all but kJudge
  std::optional<verdict::Outcome> outcome;  ///< kJudge; none: the judge must refuse the input
  std::string message;                      ///< regular expression that the text must contain
  milliseconds limit{15'000};
};

/// Sorted by name. Errors name file and key.
Result<std::vector<CorpusEntry>> read_attacks(const fs::path& folder);
Result<std::vector<CorpusEntry>> read_twins(const fs::path& folder);
Result<std::vector<Case>> read_cases(const fs::path& folder);

/// The entry's task with the entry's workloads only, under an id of its own.
Result<task::Task> load_entry_task(const CorpusEntry& entry, const fs::path& repository);

}  // namespace ww::cli
