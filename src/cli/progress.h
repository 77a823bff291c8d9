// SPDX-License-Identifier: Apache-2.0
//
// Progress on stderr for whatever takes over two seconds: one line that is rewritten on a terminal, else a plain line
// when the stage changes and now and then. Nothing of it is a result. Single-threaded.
#pragma once

#include <string>

#include "base/clock.h"
#include "judge/judge.h"

namespace ww::cli {

class Progress {
 public:
  /// `quiet`: shows nothing.
  explicit Progress(bool quiet = false);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What the figures below belong to: "gelu_layernorm", "fused rows".
  void begin(const std::string& subject);
  void show(const std::string& stage, double done, nanoseconds left);
  void show(const judge::Progress& progress);
  /// Takes the line off the terminal, before results are printed.
  void clear();

 private:
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  std::string subject_;
  std::string last_stage_;
  nanoseconds begun_;
  nanoseconds last_shown_{};
};

/// "checking softmax/wide · 40 % · 12 s left".
std::string progress_text(const std::string& subject, const std::string& stage, double done, nanoseconds left);

}  // namespace ww::cli
