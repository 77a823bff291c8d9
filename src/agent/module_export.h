// SPDX-License-Identifier: Apache-2.0
//
// A solution as something a PyTorch program imports: module.py with ModelNew, the reference beside it for constructor,
// parameters and buffers, and the built library. Needs torch and nothing of ours.
#pragma once

#include <filesystem>

#include "base/json_fwd.h"
#include "base/result.h"
#include "task/task.h"
#include "verdict/verdict.h"

namespace ww::agent {

/// Writes module.py, reference.py and solution.so into `folder`. `description`: the referee's `load` replies, one a
/// workload in the task's order; the config of each workload is the verdict's. Requires: the verdict passed. Error
/// where the description is not what docs/formats/referee.md says. Throws Fault.
Status export_module(const std::filesystem::path& folder, const task::Task& task, const Json& description,
                     const verdict::Verdict& verdict, const std::filesystem::path& library);

/// What python/warpwright/try_module.py is asked, for a folder that export_module wrote.
Json trial_request(const std::filesystem::path& folder, const task::Task& task);

}  // namespace ww::agent
