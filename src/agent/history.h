// SPDX-License-Identifier: Apache-2.0
//
// What a model is shown: the messages that follow from an episode's events, one event at a time, and about how many
// tokens they are. Append-only; only an event "compact" starts it anew. Single-threaded.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "agent/model.h"
#include "base/json_fwd.h"

namespace ww::agent {

class History {
 public:
  /// `overhead_bytes`: of what every request holds beside the messages (the tools).
  explicit History(size_t overhead_bytes = 0) : overhead_bytes_(overhead_bytes), bytes_(overhead_bytes) {}

  /// Requires: `event` is a sound event of an episode (episode.h).
  void take(const Json& event);

  const std::vector<Message>& messages() const { return messages_; }

  /// Tokens of the messages and of what every request holds beside them. The last count that the endpoint reported,
  /// and for what came since, bytes by the ratio seen so far.
  int64_t tokens() const;

 private:
  void add(Message message);
  void take_reply(const Json& event);
  void take_usage(const Json& usage);

  size_t overhead_bytes_;
  std::string prompt_;
  std::vector<Message> messages_;
  std::deque<ToolCall> open_;   ///< calls of the last reply that have no result yet
  size_t bytes_;                ///< of all messages and the overhead
  int64_t counted_tokens_ = 0;  ///< reported, for the first counted_bytes_
  size_t counted_bytes_ = 0;
  double bytes_per_token_ = 3.2;  ///< C++ and prose; corrected by what is reported
};

/// The calls of a "reply" event.
std::vector<ToolCall> calls_of(const Json& reply);

}  // namespace ww::agent
