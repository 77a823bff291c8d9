// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean": the known name closest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ww::task {

/// The candidate with the smallest edit distance, "" if none is within a third of the word's length (at least one
/// edit).
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

/// "" or "; did you mean 'precision'?", to end a message with.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace ww::task
