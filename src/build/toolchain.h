// SPDX-License-Identifier: Apache-2.0
//
// The compiler of device cpu: where it is, what tells it from another one, and the command lines it gets.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace ww::build {

struct Toolchain {
  std::filesystem::path compiler;
  std::string identity;   ///< changes when compiler, assembler, linker, oneDNN or the processor change
  bool has_dnnl = false;  ///< libdnnl can be linked here
};

/// Starts the compiler twice to ask (a few ms each). Throws Fault{kMissing} where it is not there or does not answer.
Toolchain find_toolchain(const std::filesystem::path& compiler);

/// The compiler stops after so many errors.
inline constexpr size_t kErrorLimit = 50;

/// Flags that shape code; the same for every file.
std::vector<std::string> compile_flags();

/// Flags of the link, sources aside.
std::vector<std::string> link_flags(bool link_dnnl);

}  // namespace ww::build
