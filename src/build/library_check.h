// SPDX-License-Identifier: Apache-2.0
//
// Says what a shared library needs and exports, without loading it. The bytes may be hostile: everything is
// bounds-checked.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "build/builder.h"

namespace ww::build {

struct Library {
  std::vector<std::string> needs;  ///< DT_NEEDED
};

/// Throws Refusal: kForbidden for a library outside the allowed set, search paths, auditors and filters, an executable
/// stack, memory that is writable and executable, text relocations; kBuildError for a missing ww_forward or another ABI
/// version. `allow_dnnl`: libdnnl may be needed.
Library check_library(std::string_view bytes, bool allow_dnnl);

}  // namespace ww::build
