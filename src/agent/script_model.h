// SPDX-License-Identifier: Apache-2.0
//
// A model that replies from a file of JSON lines {"text": "...", "calls": [{"tool": "write", "arguments": {...}}]},
// one line a reply. For tests, demonstrations and replays; past the last line it has no answer.
#pragma once

#include <filesystem>
#include <memory>

#include "agent/model.h"

namespace ww::agent {

/// The error names the line.
Result<std::unique_ptr<Model>> open_script(const std::filesystem::path& path);

}  // namespace ww::agent
