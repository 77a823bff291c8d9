// SPDX-License-Identifier: Apache-2.0
//
// Attempts to get out of the sandbox. Each is run inside, where it must fail, and where that is harmless outside, where
// it must succeed: so that a broken attempt does not pass for a strong wall.
#pragma once

#include <string>
#include <vector>

namespace ww::sandbox::attempts {

constexpr int kSucceeded = 0;  ///< exit code: the wall has a hole
constexpr int kFailed = 10;

struct Attempt {
  const char* name;
  bool (*run)(const std::vector<std::string>& arguments);  ///< true: it got out
};

const std::vector<Attempt>& file_attempts();
const std::vector<Attempt>& process_attempts();
const std::vector<Attempt>& resource_attempts();
const std::vector<Attempt>& confined_attempts();

}  // namespace ww::sandbox::attempts
