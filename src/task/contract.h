// SPDX-License-Identifier: Apache-2.0
//
// task.toml as a contract and workloads (docs/formats/task.md). Internal to this module.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "task/task.h"

namespace ww::task {

struct Settings {
  Contract contract;
  std::vector<Workload> workloads;  ///< at least one
};

/// `where` names the file in errors, which also name the key. Unknown keys, wrong types and duplicate workload names
/// are refused.
Result<Settings> parse_settings(const std::string& toml, const std::string& where);

}  // namespace ww::task
