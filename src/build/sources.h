// SPDX-License-Identifier: Apache-2.0
//
// Reads what counts of a solution folder: the regular files below kernels/. The folder may be hostile and may change
// while it is read: nothing is followed out of it. Docs: docs/formats/solution.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "build/builder.h"

namespace ww::build {

struct SourceFile {
  std::string name;   ///< "kernels/softmax.cpp"
  std::string bytes;  ///< text with line ends as \n; other files as they are
};

struct Sources {
  std::vector<SourceFile> files;  ///< by name
  std::string id;                 ///< content hash, 64 hexadecimal digits

  static bool is_unit(const SourceFile& file);

  /// Names of the files to compile, by name.
  std::vector<std::string> units() const;

  /// Names of files that look like source and are not compiled: another language or ending, or in a subfolder.
  std::vector<std::string> left_out() const;
};

/// Throws Refusal naming the file, relative to the solution, and the limit.
Sources read_sources(const std::filesystem::path& solution, const Limits& limits);

}  // namespace ww::build
