// SPDX-License-Identifier: Apache-2.0
//
// Results on stdout, and nothing else there. Flushed at once, so that a reader of a stream waits for nothing.
#pragma once

#include <string_view>

#include "base/json_fwd.h"

namespace ww::cli {

/// Throws Fault{kDisk or kSystem} where stdout cannot be written.
void print(std::string_view text);
/// The one document of a command with --json.
void print_document(const Json& document);
/// One line of a stream.
void print_line(const Json& document);

}  // namespace ww::cli
