// SPDX-License-Identifier: Apache-2.0
//
// What a model is told at the start of an episode.
#pragma once

#include <string>

#include "task/task.h"

namespace ww::agent {

std::string task_prompt(const task::Task& task);

}  // namespace ww::agent
