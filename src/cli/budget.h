// SPDX-License-Identifier: Apache-2.0
//
// The text after --budget: "turns=50,tokens=200000,time=600,cost=1.5".
#pragma once

#include <string>

#include "base/result.h"
#include "cli/commands.h"

namespace ww::cli {

/// Puts what is named into `options`. The error names the part.
Status apply_budget(const std::string& text, OptimizeOptions& options);

}  // namespace ww::cli
