// SPDX-License-Identifier: Apache-2.0
//
// An episode on disk: docs/formats/episode.md. Events are appended one line at a time: a process that is killed loses
// at most the line it was writing, and a machine that loses its power at most what was written since the last sync. A
// torn last line is cut off when the file is opened again. Holds verdicts, never rewards.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/json_fwd.h"
#include "base/result.h"

namespace ww::agent {

inline constexpr std::string_view kEpisodeSchema = "warpwright.episode/1";

enum class Ending {
  kFinished,
  kTurnLimit,
  kContextLimit,
  kTokenLimit,
  kTimeLimit,
  kCostLimit,
  kModelError,
  kInterrupted,
  kFault
};

/// "finished", "turn_limit", "context_limit", "token_limit", "time_limit", "cost_limit", "model_error", "interrupted",
/// "fault".
std::string_view name(Ending ending);
/// Error where there is no such ending.
Result<Ending> ending_from_name(std::string_view name);
/// An ending after which there is something left to do: model_error, interrupted, fault.
bool resumable(std::string_view ending);

class Episode {
 public:
  /// A new file. Throws Fault where it cannot be made or exists.
  static Episode create(const std::filesystem::path& path);
  /// An existing file, to be continued. Error where it is not an episode of a known version, or a line before the last
  /// one is damaged (the error names the line), or another process has it open.
  static Result<Episode> open(const std::filesystem::path& path);
  /// The events of a file, without opening it for writing. All of them are sound.
  static Result<std::vector<Json>> read(const std::filesystem::path& path);

  Episode(Episode&&) noexcept;
  ~Episode();

  /// Requires: `event` is as docs/formats/episode.md says. Returns after it is handed to the system. Throws Fault.
  void append(const Json& event);
  /// Returns after what was appended is on the disk. Throws Fault.
  void sync();

  /// What the file held when it was opened, and the start that was appended to an empty one.
  const std::vector<Json>& events() const { return events_; }
  /// Hands them over: a long episode is not kept in memory.
  std::vector<Json> take_events();

 private:
  Episode();

  std::filesystem::path path_;
  Fd fd_;
  std::vector<Json> events_;
};

}  // namespace ww::agent
