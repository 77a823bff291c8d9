// SPDX-License-Identifier: Apache-2.0
//
// The workshop that asks the judge. Interruptible wherever the judge reports progress.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "agent/workshop.h"
#include "build/builder.h"
#include "judge/judge.h"
#include "task/task.h"

namespace ww::agent {

struct JudgeWorkshopSettings {
  judge::Settings judge;
  milliseconds explore_cap{600};  ///< of judging a workload while exploring
  milliseconds admission_limit{60'000};
  milliseconds module_limit{120'000};  ///< of one trial of module.py
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(const judge::Progress&)> on_progress = {};
};

class JudgeWorkshop : public Workshop {
 public:
  /// Throws Fault where the machine lacks what judging or building needs.
  JudgeWorkshop(const task::Task& task, JudgeWorkshopSettings settings);

  judge::Admission admit() override;
  Result<std::vector<Json>> capture() override;
  Result<Json> describe() override;
  Built build(const std::filesystem::path& solution) override;
  Result<verdict::Verdict> judge(const std::filesystem::path& solution, const JudgeRequest& request) override;
  std::vector<sandbox::Mount> shell_mounts() const override;
  std::vector<std::string> shell_environment() const override;
  void start_afresh() override;
  Status try_module(const std::filesystem::path& folder) override;

 private:
  void stop_if_asked() const;
  void report(const judge::Progress& progress) const;

  const task::Task& task_;
  JudgeWorkshopSettings settings_;
  std::unique_ptr<judge::Judge> judge_;
  build::Builder builder_;
};

}  // namespace ww::agent
