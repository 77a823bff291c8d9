// SPDX-License-Identifier: Apache-2.0
//
// Runs the compiler in the sandbox on a copy of the sources. One file is one compiler call; several are compiled beside
// each other and then linked.
#pragma once

#include <string>
#include <vector>

#include "build/builder.h"
#include "build/sources.h"
#include "build/toolchain.h"

namespace ww::build {

struct Header {
  std::string name;  ///< below the include folder: "warpwright/solution.h"
  std::string bytes;
};

/// Removes what killed builds left in the temporary folder.
void remove_abandoned_builds();

/// The bytes of the library. Throws Refusal{kBuildError} with diagnostics or the limit that was reached; Fault where
/// the machine is at fault (disk full, no sandbox).
std::string compile(const Sources& sources, const std::vector<Header>& headers, const Toolchain& toolchain,
                    bool link_dnnl, const Limits& limits);

/// The command that makes `output` from `sources` in one call. Paths are relative to the build's folder.
std::vector<std::string> compile_and_link_command(const Toolchain& toolchain, const std::vector<std::string>& sources,
                                                  const std::string& output, bool link_dnnl);

}  // namespace ww::build
