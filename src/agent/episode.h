// SPDX-License-Identifier: Apache-2.0
//
// An episode on disk: docs/formats/episode.md. Events are appended one line at a time and synced, so that a process
// that dies loses at most the line it was writing; a torn last line is cut off when the file is opened again. Holds
// verdicts, never rewards.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "agent/model.h"
#include "base/fd.h"
#include "base/json_fwd.h"
#include "base/result.h"

namespace ww::agent {

inline constexpr std::string_view kEpisodeSchema = "warpwright.episode/1";

enum class Ending { kFinished, kTurnLimit, kTimeLimit, kModelError, kInterrupted, kFault };

/// "finished", "turn_limit", "time_limit", "model_error", "interrupted", "fault".
std::string_view name(Ending ending);
/// An ending after which there is something left to do: model_error, interrupted, fault.
bool resumable(std::string_view ending);

class Episode {
 public:
  /// A new file. Throws Fault where it cannot be made or exists.
  static Episode create(const std::filesystem::path& path);
  /// An existing file, to be continued. Error where it is not an episode of a known version, or a line before the last
  /// one is damaged (the error names the line), or another process has it open.
  static Result<Episode> open(const std::filesystem::path& path);
  /// The events of a file, without opening it for writing.
  static Result<std::vector<Json>> read(const std::filesystem::path& path);

  Episode(Episode&&) noexcept;
  ~Episode();

  /// Requires: `event` is as docs/formats/episode.md says. Returns after it is on disk. Throws Fault.
  void append(const Json& event);
  const std::vector<Json>& events() const { return events_; }

 private:
  Episode();

  std::filesystem::path path_;
  Fd fd_;
  std::vector<Json> events_;
};

/// The calls of a "reply" event.
std::vector<ToolCall> calls_of(const Json& reply);

/// What a model is shown of the events so far.
std::vector<Message> history_of(const std::vector<Json>& events);

}  // namespace ww::agent
