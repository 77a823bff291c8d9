// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>

namespace ww::cli {
namespace {

constexpr nanoseconds kGrace = seconds(2);
constexpr nanoseconds kTick = milliseconds(250);
constexpr nanoseconds kTerminalPace = milliseconds(100);
constexpr nanoseconds kPlainPace = seconds(10);
constexpr nanoseconds kPlainStagePace = seconds(2);  // stages that pass quickly get no line

std::string_view stage_text(judge::Stage stage) {
  switch (stage) {
    case judge::Stage::kStartReferee:
      return "starting torch";
    case judge::Stage::kLoad:
      return "running the reference";
    case judge::Stage::kAdmit:
      return "trying straw solutions";
    case judge::Stage::kBuild:
      return "building";
    case judge::Stage::kCheck:
      return "checking";
    case judge::Stage::kCompileBaseline:
      return "torch.compile of the reference";
    case judge::Stage::kTime:
      return "timing";
    case judge::Stage::kDone:
      return "done";
  }
  return "";
}

size_t terminal_columns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// The first `columns` characters of UTF-8 text.
std::string cut(const std::string& text, size_t columns) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (starts && characters++ == columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::string progress_text(const std::string& subject, const ProgressLine& line) {
  std::string text = subject.empty() ? line.stage : subject + " · " + line.stage;
  if (line.done > 0) text += fmt::format(" · {:.0f} %", 100 * line.done);
  if (line.left.count() > 0) {
    text += fmt::format(" · {}{:.0f} s left", line.at_most ? "at most " : "", std::ceil(to_seconds(line.left)));
  } else if (line.taken >= kGrace) {
    text += fmt::format(" · {:.0f} s so far", to_seconds(line.taken));
  }
  return text;
}

Progress::Progress(bool quiet)
    : quiet_(quiet), terminal_(::isatty(STDERR_FILENO)), begun_(now()), ticker_([this](const std::stop_token& token) {
        std::mutex pause;
        std::unique_lock lock(pause);
        std::condition_variable_any ticks;
        while (!ticks.wait_for(lock, token, kTick, [] { return false; }) && !token.stop_requested()) {
          const std::lock_guard guard(mutex_);
          draw();
        }
      }) {}

Progress::~Progress() {
  ticker_.request_stop();
  ticker_.join();
  clear();
}

void Progress::begin(const std::string& subject) {
  const std::lock_guard guard(mutex_);
  if (subject == subject_) return;
  subject_ = subject;
  last_stage_.clear();
  line_ = {};
}

void Progress::show(const judge::Progress& progress) {
  std::string stage(stage_text(progress.stage));
  if (!progress.workload.empty()) stage += " " + progress.workload;
  show(stage, progress.done, progress.left, progress.at_most);
}

void Progress::show(const std::string& stage, double done, nanoseconds left, bool at_most) {
  const std::lock_guard guard(mutex_);
  reported_ = now();
  if (stage != line_.stage) stage_begun_ = reported_;
  line_ = {.stage = stage, .done = done, .left = left, .at_most = at_most, .taken = {}};
  active_ = true;
  draw();
}

void Progress::draw() {
  const nanoseconds time = now();
  const bool new_stage = line_.stage != last_stage_;
  const nanoseconds pace = terminal_ ? kTerminalPace : new_stage ? kPlainStagePace : kPlainPace;
  if (quiet_ || !active_ || line_.stage.empty() || time - begun_ < kGrace || time - last_shown_ < pace) return;
  ProgressLine line = line_;
  line.taken = time - stage_begun_;
  // An estimate that has run out is no estimate.
  line.left = std::max(nanoseconds(0), line_.left - (time - reported_));
  const std::string text = progress_text(subject_, line);
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s", cut(text, terminal_columns() - 1).c_str());
    shown_ = true;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  std::fflush(stderr);
  last_stage_ = line_.stage;
  last_shown_ = time;
}

void Progress::clear() {
  const std::lock_guard guard(mutex_);
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
  active_ = false;
}

}  // namespace ww::cli
