// SPDX-License-Identifier: Apache-2.0
//
// The probes under tests/sandbox/, as their TOML files describe them (tests/sandbox/README.md). Reading only; plain
// data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace ww::cli {

namespace fs = std::filesystem;

/// What shows that a probe got out.
enum class Sign {
  kExit,    ///< it exits 0
  kGrows,   ///< the file `alive` in its work folder grows after its end
  kOutput,  ///< all that it printed was kept
};

/// An attempt to get out of the sandbox: one act of the program in its folder.
struct Probe {
  std::string name;  ///< unique; the program's argument
  std::string kind;  ///< its folder's name
  fs::path program;  ///< probe.cc or probe.sh
  std::string layer;
  std::string summary;
  Sign sign = Sign::kExit;
  milliseconds wall{0};  ///< limits that are to end it; 0: none of them
  milliseconds cpu{0};
};

/// In order of folders, then as written. Errors name file and key.
Result<std::vector<Probe>> read_probes(const fs::path& folder);

}  // namespace ww::cli
