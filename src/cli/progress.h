// SPDX-License-Identifier: Apache-2.0
//
// Progress on stderr for whatever takes over two seconds: one line that is rewritten on a terminal, else a plain line
// when the stage changes and now and then. A thread of its own keeps it going while the program waits, so that a stage
// which takes long says how long it has taken. Nothing of it is a result. One thread calls.
#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "judge/judge.h"

namespace ww::cli {

struct ProgressLine {
  std::string stage;
  double done = 0;       ///< 0..1; 0 where it is not known
  nanoseconds left{};    ///< 0 where it is not known; then `taken` is shown
  bool at_most = false;  ///< `left` is a limit, no estimate
  nanoseconds taken{};   ///< by the stage
};

/// "checking softmax/wide · 40 % · 12 s left", "starting torch · 3 s so far".
std::string progress_text(const std::string& subject, const ProgressLine& line);

class Progress {
 public:
  /// `quiet`: shows nothing.
  explicit Progress(bool quiet = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What the figures below belong to: "gelu_layernorm", "fused rows".
  void begin(const std::string& subject);
  /// `left`: an estimate, counted down until the next call; 0 where there is none.
  void show(const std::string& stage, double done, nanoseconds left, bool at_most = false);
  void show(const judge::Progress& progress);
  /// Takes the line off the terminal, before results are printed.
  void clear();

 private:
  void draw();

  const bool quiet_;
  const bool terminal_;
  const nanoseconds begun_;
  std::mutex mutex_;     // guards what follows
  bool active_ = false;  ///< there is something to show
  bool shown_ = false;   ///< a line stands on the terminal
  std::string subject_;
  ProgressLine line_;
  nanoseconds reported_{};     ///< when line_ came
  nanoseconds stage_begun_{};  ///< when its stage came
  std::string last_stage_;
  nanoseconds last_shown_{};
  std::jthread ticker_;  // last: it ends before the rest goes
};

}  // namespace ww::cli
