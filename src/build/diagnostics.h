// SPDX-License-Identifier: Apache-2.0
//
// A compiler's output made short and safe to print: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ww::build {

struct Diagnostics {
  std::string text;   ///< valid UTF-8 without control characters but line ends and tabs
  size_t errors = 0;  ///< lines that report an error
};

/// The first errors with the lines that lead to them, warnings and overlong lines cut, then one line that says how
/// many errors there are in all: "at least" where `cut` (the output was cut before it got here) or from `error_limit`
/// on.
Diagnostics shorten(std::string_view output, bool cut, size_t limit_bytes, size_t error_limit);

/// Hostile bytes for people: what is neither UTF-8 nor a printable character becomes '?'.
std::string printable(std::string_view bytes);

}  // namespace ww::build
