// SPDX-License-Identifier: Apache-2.0
//
// What a Python interpreter needs to see of the host to run in the sandbox.
#pragma once

#include <filesystem>

#include "sandbox/sandbox.h"

namespace ww::judge {

/// Appends the folders that `python` (absolute) and its packages lie in, read-only. Asks the interpreter itself,
/// outside the sandbox and without any task's code. Throws Fault where it cannot be run.
void add_python(sandbox::Spec& spec, const std::filesystem::path& python);

}  // namespace ww::judge
