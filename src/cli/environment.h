// SPDX-License-Identifier: Apache-2.0
//
// Where things are: the only place that reads environment variables (docs/cli/README.md lists them).
#pragma once

#include <cstdint>
#include <filesystem>

#include "judge/judge.h"
#include "report/text.h"

namespace ww::cli {

struct Environment {
  std::filesystem::path home;      ///< the repository, or a copy of its tasks/, python/ and include/
  std::filesystem::path programs;  ///< where ww and ww-runner lie
  std::filesystem::path python;
  std::filesystem::path cache;
  uint64_t cache_limit_bytes = build::kCacheLimitBytes;
  bool color = false;  ///< stdout is a terminal and NO_COLOR is not set

  std::filesystem::path tasks() const { return home / "tasks"; }
  report::Style style() const { return {.color = color}; }
  judge::Settings judge_settings() const;
};

/// Throws Fault where the repository cannot be found or a variable cannot be read.
Environment read_environment();

}  // namespace ww::cli
