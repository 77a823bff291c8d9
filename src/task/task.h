// SPDX-License-Identifier: Apache-2.0
//
// A task: a PyTorch reference in KernelBench form plus its contract. Loading here reads and validates text only;
// whether the reference runs is found out by the referee, in the sandbox (judge/). Plain data, freely copied.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace ww::task {

enum class Precision { kFp32, kTf32, kFp16, kBf16 };
enum class Mode { kSource, kEval, kTrain };
enum class ClockPolicy { kGuarded, kDevice };

std::string_view name(Precision precision);
std::string_view name(Mode mode);
std::string_view name(ClockPolicy clock);

/// One set of shapes: module-level constants of the reference that are overridden. `set` is a JSON object as text.
struct Workload {
  std::string name = "default";
  std::string set = "{}";
};

struct Contract {
  Precision precision = Precision::kFp32;
  Mode mode = Mode::kSource;
  ClockPolicy clock = ClockPolicy::kGuarded;
  std::vector<std::string> mutates;                              ///< buffers compared after the call
  std::vector<std::string> allow = {"cublas", "cudnn", "dnnl"};  ///< libraries a solution may call
  bool redraw_constants = true;  ///< redraw parameters initialised to a constant; false: suite profile kernelbench
};

Json to_json(const Contract& contract);

struct Task {
  std::string name;  ///< folder or file name without .py
  std::filesystem::path source_path;
  std::string source;  ///< the reference, UTF-8
  Contract contract;
  std::vector<Workload> workloads;  ///< at least one
  std::string id;                   ///< content hash of source, contract and workloads, 64 hexadecimal digits
};

/// `where` is a file, a folder with exactly one reference (`task.toml` beside it) or a name under `tasks_root`.
/// Errors name file, line or key: missing, no task in the folder, not UTF-8, unknown TOML key (with the nearest known
/// one), duplicate workload names. Reads, never runs, the reference.
Result<Task> load_task(const std::string& where, const std::filesystem::path& tasks_root);

/// Names of the tasks directly under `tasks_root`, sorted.
std::vector<std::string> list_tasks(const std::filesystem::path& tasks_root);

}  // namespace ww::task
