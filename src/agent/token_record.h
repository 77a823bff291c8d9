// SPDX-License-Identifier: Apache-2.0
//
// Token ids in an episode, for trainers. A prompt repeats what came before it: an event holds how much of the last
// prompt and output it keeps, and what is new. So masks follow: what is new in a prompt is 0, an output is 1.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/model.h"
#include "base/json_fwd.h"

namespace ww::agent {

class TokenRecord {
 public:
  /// The "tokens" of a reply event.
  Json record(const Tokens& tokens) const;
  /// Takes up a reply event, with or without tokens.
  void take(const Json& reply);

  /// The last prompt and its output. Empty before the first reply with tokens.
  const std::vector<int32_t>& so_far() const { return so_far_; }
  /// How many of them the last reply kept of those before it.
  size_t kept() const { return kept_; }

 private:
  std::vector<int32_t> so_far_;
  size_t kept_ = 0;
};

}  // namespace ww::agent
