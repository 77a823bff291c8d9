// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace ww::cli {
namespace {

constexpr nanoseconds kGrace = seconds(2);
constexpr nanoseconds kTerminalPace = milliseconds(100);
constexpr nanoseconds kPlainPace = seconds(10);
constexpr nanoseconds kPlainStagePace = seconds(2);  // stages that pass quickly get no line

std::string_view stage_text(judge::Stage stage) {
  switch (stage) {
    case judge::Stage::kStartReferee:
      return "starting torch";
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

std::string progress_text(const std::string& subject, const std::string& stage, double done, nanoseconds left) {
  std::string text = subject.empty() ? stage : subject + " · " + stage;
  if (done > 0) text += fmt::format(" · {:.0f} %", 100 * done);
  if (left.count() > 0) text += fmt::format(" · {:.0f} s left", to_seconds(left));
  return text;
}

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO)), begun_(now()) {}

void Progress::begin(const std::string& subject) {
  if (subject == subject_) return;
  subject_ = subject;
  last_stage_.clear();
}

void Progress::show(const judge::Progress& progress) {
  std::string stage(stage_text(progress.stage));
  if (!progress.workload.empty()) stage += " " + progress.workload;
  show(stage, progress.done, progress.left);
}

void Progress::show(const std::string& stage, double done, nanoseconds left) {
  const nanoseconds time = now();
  const bool new_stage = stage != last_stage_;
  const nanoseconds pace = terminal_ ? kTerminalPace : new_stage ? kPlainStagePace : kPlainPace;
  if (quiet_ || time - begun_ < kGrace || time - last_shown_ < pace) return;
  const std::string text = progress_text(subject_, stage, done, left);
  if (terminal_) {
    const std::string line = cut(text, terminal_columns() - 1);
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    shown_ = true;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  std::fflush(stderr);
  last_stage_ = stage;
  last_shown_ = time;
}

void Progress::clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace ww::cli
