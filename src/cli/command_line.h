// SPDX-License-Identifier: Apache-2.0
//
// From words to a verb and its options. CLI11 stays behind this door. Pure: touches no file and no environment.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "cli/commands.h"
#include "cli/test_command.h"

namespace ww::cli {

/// Runs the verb that was asked for.
using Verb = std::function<int(const Environment&)>;

/// The command line ended here: help or version (exit code 0, to stdout), or a usage error (to stderr).
struct Said {
  int exit_code = 0;
  std::string text;
};

/// `arguments` without the program's name.
std::variant<Verb, Said> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace ww::cli
