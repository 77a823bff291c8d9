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
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/log.h"

namespace ww::agent {
namespace {

constexpr uint64_t kEpisodeLimitBytes = 1u << 30;
constexpr std::array<std::string_view, 9> kEndings = {"finished",    "turn_limit",  "context_limit",
                                                      "token_limit", "time_limit",  "cost_limit",
                                                      "model_error", "interrupted", "fault"};

struct Lines {
  std::vector<Json> events;
  size_t whole_bytes = 0;  ///< up to the last newline
};

bool is_text(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string();
}

bool is_number(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_number();
}

bool is_list_of_numbers(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_array() &&
         std::all_of(object[key].begin(), object[key].end(), [](const Json& each) { return each.is_number(); });
}

bool is_sound_usage(const Json& usage) {
  return is_number(usage, "input") && is_number(usage, "cached") && is_number(usage, "output") &&
         is_number(usage, "cost_usd");
}

bool are_sound_tokens(const Json& tokens) {
  return is_number(tokens, "kept") && is_list_of_numbers(tokens, "more") && is_list_of_numbers(tokens, "output") &&
         (!tokens.contains("logprobs") || is_list_of_numbers(tokens, "logprobs"));
}

/// `open` receives the ids of the reply's calls.
bool is_sound_reply(const Json& event, std::deque<std::string>& open) {
  open.clear();
  if (!is_text(event, "text") || !event.contains("calls") || !event["calls"].is_array()) return false;
  for (const Json& call : event["calls"]) {
    if (!is_text(call, "id") || !is_text(call, "tool") || !is_text(call, "arguments")) return false;
    open.push_back(call["id"]);
  }
  for (const char* key : {"reasoning", "echo", "finish"}) {
    if (event.contains(key) && !is_text(event, key)) return false;
  }
  if (event.contains("usage") && !is_sound_usage(event["usage"])) return false;
  return !event.contains("tokens") || are_sound_tokens(event["tokens"]);
}

/// `open` holds the ids of the last reply's calls that have no result yet; results come in the calls' order.
bool is_sound_tool(const Json& event, std::deque<std::string>& open) {
  const bool sound = is_text(event, "id") && is_text(event, "tool") && is_text(event, "text") &&
                     event.contains("data") && event["data"].is_object() && !open.empty() &&
                     open.front() == event["id"];
  if (sound) open.pop_front();
  return sound && (!event["data"].contains("verdict") || is_text(event["data"], "attempt"));
}

Status check(const Json& event, bool first, std::deque<std::string>& open) {
  if (!is_text(event, "event")) return Error{"is no event of an episode", ""};
  const std::string kind = event["event"];
  if (first && (kind != "start" || !is_text(event, "schema") || event["schema"] != kEpisodeSchema)) {
    return Error{"is not an episode of version " + std::string(kEpisodeSchema), ""};
  }
  if (!is_number(event, "elapsed_s")) return Error{"has no elapsed_s", ""};
  bool sound = kind == "resume";
  if (kind == "start") sound = first && is_text(event, "prompt") && is_text(event, "model");
  if (kind == "reply") sound = is_sound_reply(event, open);
  if (kind == "tool") sound = is_sound_tool(event, open);
  if (kind == "notice") sound = is_text(event, "text");
  if (kind == "compact") sound = is_text(event, "text") && is_number(event, "replies");
  if (kind == "end") sound = is_text(event, "ending") && is_text(event, "reason");
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

std::string_view name(Ending ending) { return kEndings[static_cast<size_t>(ending)]; }

Result<Ending> ending_from_name(std::string_view name) {
  const auto found = std::find(kEndings.begin(), kEndings.end(), name);
  if (found == kEndings.end()) return Error{"is no ending of an episode", std::string(name)};
  return static_cast<Ending>(found - kEndings.begin());
}

bool resumable(std::string_view ending) {
  return ending == name(Ending::kModelError) || ending == name(Ending::kInterrupted) || ending == name(Ending::kFault);
}

Episode::Episode() = default;
Episode::Episode(Episode&&) noexcept = default;
Episode::~Episode() = default;

std::vector<Json> Episode::take_events() { return std::move(events_); }

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
  if (written < line.size()) {
    const int code = errno;
    // Best effort: open() cuts a torn line off as well.
    if (::ftruncate(fd_.get(), start) != 0) log::warning("a torn line is left at the end of " + path_.string());
    throw_errno("writing " + path_.string(), code);
  }
  if (start == 0) events_.push_back(event);
}

void Episode::sync() {
  if (::fdatasync(fd_.get()) != 0) throw_errno("writing " + path_.string());
}

}  // namespace ww::agent
