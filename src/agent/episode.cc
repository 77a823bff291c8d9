// SPDX-License-Identifier: Apache-2.0
#include "agent/episode.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"

namespace ww::agent {
namespace {

constexpr uint64_t kEpisodeLimitBytes = 1u << 30;
constexpr std::array<std::string_view, 6> kEndings = {"finished",    "turn_limit",  "time_limit",
                                                      "model_error", "interrupted", "fault"};

struct Lines {
  std::vector<Json> events;
  size_t whole_bytes = 0;  ///< up to the last newline
};

/// `open` holds the ids of the last reply's calls that have no result yet; results come in the calls' order.
Status check(const Json& event, bool first, std::deque<std::string>& open) {
  const auto is_text = [](const Json& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string();
  };
  if (!is_text(event, "event")) return Error{"is no event of an episode", ""};
  const std::string kind = event["event"];
  if (first && (kind != "start" || !is_text(event, "schema") || event["schema"] != kEpisodeSchema)) {
    return Error{"is not an episode of version " + std::string(kEpisodeSchema), ""};
  }
  if (!event.contains("elapsed_s") || !event["elapsed_s"].is_number()) return Error{"has no elapsed_s", ""};
  bool sound = true;
  if (kind == "start") sound = first && is_text(event, "prompt");
  if (kind == "end") sound = is_text(event, "ending") && is_text(event, "reason");
  if (kind == "reply") {
    sound = is_text(event, "text") && event.contains("calls") && event["calls"].is_array();
    open.clear();
    for (size_t i = 0; sound && i < event["calls"].size(); i++) {
      const Json& call = event["calls"][i];
      sound = is_text(call, "id") && is_text(call, "tool") && is_text(call, "arguments");
      if (sound) open.push_back(call["id"]);
    }
  }
  if (kind == "tool") {
    sound = is_text(event, "id") && is_text(event, "tool") && is_text(event, "text") && event.contains("data") &&
            event["data"].is_object() && !open.empty() && open.front() == event["id"];
    if (sound) open.pop_front();
  }
  return sound ? Status(Unit{}) : Status(Error{"is no sound \"" + kind + "\" event", ""});
}

Result<Lines> parse(const std::string& bytes, const fs::path& path) {
  Lines lines;
  std::deque<std::string> open;
  int number = 0;
  for (size_t end; (end = bytes.find('\n', lines.whole_bytes)) != std::string::npos; lines.whole_bytes = end + 1) {
    const std::string where = path.string() + ":" + std::to_string(++number);
    auto event = parse_json(std::string_view(bytes).substr(lines.whole_bytes, end - lines.whole_bytes), where);
    if (!event) return event.error();
    if (auto sound = check(*event, lines.events.empty(), open); !sound) return Error{sound.error().message, where};
    lines.events.push_back(std::move(*event));
  }
  return lines;
}

}  // namespace

std::vector<ToolCall> calls_of(const Json& reply) {
  std::vector<ToolCall> calls;
  for (const Json& call : reply.at("calls")) calls.push_back({call.at("id"), call.at("tool"), call.at("arguments")});
  return calls;
}

std::string_view name(Ending ending) { return kEndings[static_cast<size_t>(ending)]; }

bool resumable(std::string_view ending) {
  return ending == name(Ending::kModelError) || ending == name(Ending::kInterrupted) || ending == name(Ending::kFault);
}

Episode::Episode() = default;
Episode::Episode(Episode&&) noexcept = default;
Episode::~Episode() = default;

Episode Episode::create(const fs::path& path) {
  Episode episode;
  episode.path_ = path;
  episode.fd_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (!episode.fd_.valid()) throw_errno("creating " + path.string());
  return episode;
}

Result<Episode> Episode::open(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd.valid()) return Error{std::strerror(errno), path.string()};
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Error{"is being written by another process", path.string()};
  const auto bytes = read_file(path, kEpisodeLimitBytes);
  if (!bytes) return bytes.error();
  auto lines = parse(*bytes, path);
  if (!lines) return lines.error();
  Episode episode;
  episode.path_ = path;
  episode.events_ = std::move(lines->events);
  episode.fd_ = std::move(fd);
  if (::ftruncate(episode.fd_.get(), static_cast<off_t>(lines->whole_bytes)) != 0)
    throw_errno("writing " + path.string());
  return episode;
}

Result<std::vector<Json>> Episode::read(const fs::path& path) {
  const auto bytes = read_file(path, kEpisodeLimitBytes);
  if (!bytes) return bytes.error();
  auto lines = parse(*bytes, path);
  if (!lines) return lines.error();
  return std::move(lines->events);
}

void Episode::append(const Json& event) {
  const std::string line = event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const off_t start = ::lseek(fd_.get(), 0, SEEK_END);
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(fd_.get(), line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    written += static_cast<size_t>(count);
  }
  if (written < line.size() || ::fdatasync(fd_.get()) != 0) {
    const int code = errno;
    // Best effort: open() cuts a torn line off as well.
    if (::ftruncate(fd_.get(), start) != 0) log::warning("a torn line is left at the end of " + path_.string());
    throw_errno("writing " + path_.string(), code);
  }
  events_.push_back(event);
}

std::vector<Message> history_of(const std::vector<Json>& events) {
  std::vector<Message> history;
  std::deque<ToolCall> open;
  for (const Json& event : events) {
    const std::string kind = event.at("event");
    if (kind == "start") {
      history.push_back({.role = Role::kUser, .text = event.at("prompt")});
    } else if (kind == "reply") {
      const auto calls = calls_of(event);
      open.assign(calls.begin(), calls.end());
      history.push_back({.role = Role::kModel, .text = event.at("text"), .calls = calls});
      if (calls.empty()) history.push_back({.role = Role::kUser, .text = "Call a tool, or call finish."});
    } else if (kind == "tool") {
      history.push_back({.role = Role::kTool,
                         .text = event.at("text"),
                         .call = std::move(open.front()),
                         .data = event.at("data").dump()});
      open.pop_front();
    }
  }
  return history;
}

}  // namespace ww::agent
