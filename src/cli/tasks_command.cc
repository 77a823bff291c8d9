// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/interrupt.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/text.h"
#include "task/task.h"

namespace ww::cli {
namespace {

/// docs/cli/tasks.md promises 15 s; what remains is for ending the processes.
constexpr milliseconds kCheckLimit{14'000};

Json names_of(const std::vector<task::Workload>& workloads) {
  Json names = Json::array();
  for (const auto& workload : workloads) names.push_back(workload.name);
  return names;
}

std::string joined(const Json& names) {
  std::string text;
  for (const Json& name : names) text += (text.empty() ? "" : ", ") + name.get<std::string>();
  return text;
}

struct Checked {
  report::AdmissionText text;
  std::string id;
};

Checked check(const std::string& where, judge::Judge& judge, const Environment& environment, Progress& progress) {
  Checked checked;
  checked.text.task = where;
  const auto task = task::load_task(where, environment.tasks());
  if (!task) {
    checked.text.problems = {task.error().text()};
    return checked;
  }
  const judge::Admission admission = judge.check(*task, kCheckLimit, [&](const judge::Progress& each) {
    stop_if_interrupted();
    progress.show(each);
  });
  checked.id = task->id;
  checked.text = {.task = task->name,
                  .admitted = admission.admitted,
                  .workloads = task->workloads.size(),
                  .problems = admission.problems,
                  .weak = admission.weak,
                  .skipped = admission.skipped};
  return checked;
}

Json to_json(const Checked& checked) {
  return {{"task", checked.text.task},         {"id", checked.id},          {"admitted", checked.text.admitted},
          {"problems", checked.text.problems}, {"weak", checked.text.weak}, {"skipped", checked.text.skipped}};
}

int exit_code_of(const Checked& checked) {
  if (!checked.text.admitted) return kExitBadInput;
  return checked.text.weak.empty() ? kExitPass : kExitNotPassed;
}

}  // namespace

int run_tasks_list(const TasksOptions& options, const Environment& environment) {
  Json list = Json::array();
  for (const std::string& name : task::list_tasks(environment.tasks())) {
    const auto task = task::load_task(name, environment.tasks());
    if (!task) return refuse(task.error().text());
    list.push_back({{"name", name},
                    {"precision", task::name(task->contract.precision)},
                    {"workloads", names_of(task->workloads)},
                    {"id", task->id}});
  }
  if (options.json) {
    print_document(list);
    return kExitPass;
  }
  for (const Json& task : list) {
    print(fmt::format("{:<28}  {}   {}\n", task["name"].get<std::string>(), task["precision"].get<std::string>(),
                      joined(task["workloads"])));
  }
  return kExitPass;
}

int run_tasks_check(const TasksOptions& options, const Environment& environment) {
  const auto tasks = options.tasks.empty() ? task::list_tasks(environment.tasks()) : options.tasks;
  judge::Judge judge(environment.judge_settings());
  Progress progress;
  int exit_code = kExitPass;
  for (size_t i = 0; i < tasks.size(); i++) {
    stop_if_interrupted();
    progress.begin(tasks.size() == 1 ? tasks[i] : fmt::format("{}/{} {}", i + 1, tasks.size(), tasks[i]));
    const Checked checked = check(tasks[i], judge, environment, progress);
    progress.clear();
    if (!options.json) {
      print(report::admission_text(checked.text, environment.style()));
    } else if (tasks.size() == 1) {
      print_document(to_json(checked));
    } else {
      print_line(to_json(checked));
    }
    exit_code = std::max(exit_code, exit_code_of(checked));
  }
  return exit_code;
}

}  // namespace ww::cli
