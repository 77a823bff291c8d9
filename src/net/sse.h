// SPDX-License-Identifier: Apache-2.0
//
// Server-sent events out of bytes as they come, in pieces of any size, by the rules of the HTML standard: lines end in
// LF, CR or CRLF, several "data" lines are one event, comments and unknown fields are passed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ww::net {

struct SseEvent {
  std::string type;  ///< "" unless the stream names one
  std::string data;
};

class SseParser {
 public:
  static constexpr size_t kEventLimit = 8u << 20;  ///< bytes of one event; far over any honest one

  /// Calls `take` for each event that these bytes complete. Returns false once an event is over the limit: the rest
  /// of the stream is then not looked at.
  bool feed(std::string_view bytes, const std::function<void(const SseEvent&)>& take);

  /// The stream is over. An event without the closing empty line counts as well where its last line is whole, since
  /// servers forget that line after their last event; the standard would drop it.
  void finish(const std::function<void(const SseEvent&)>& take);

  /// Comment lines so far: what servers send to keep a connection alive.
  int64_t comments() const { return comments_; }

 private:
  void end_line(const std::function<void(const SseEvent&)>& take);
  void emit(const std::function<void(const SseEvent&)>& take);

  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool first_line_ = true;
  bool over_limit_ = false;
  int64_t comments_ = 0;
};

}  // namespace ww::net
