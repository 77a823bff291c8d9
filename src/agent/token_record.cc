// SPDX-License-Identifier: Apache-2.0
#include "agent/token_record.h"

#include <algorithm>

#include "base/json.h"

namespace ww::agent {

Json TokenRecord::record(const Tokens& tokens) const {
  const auto difference = std::mismatch(so_far_.begin(), so_far_.end(), tokens.prompt.begin(), tokens.prompt.end());
  const auto kept = difference.second - tokens.prompt.begin();
  Json json = {{"kept", kept},
               {"more", std::vector<int32_t>(difference.second, tokens.prompt.end())},
               {"output", tokens.output}};
  if (!tokens.logprobs.empty()) json["logprobs"] = tokens.logprobs;
  return json;
}

void TokenRecord::take(const Json& reply) {
  if (!reply.contains("tokens")) return;
  const Json& tokens = reply["tokens"];
  kept_ = std::min(tokens.at("kept").get<size_t>(), so_far_.size());
  so_far_.resize(kept_);
  for (const char* key : {"more", "output"}) {
    for (const Json& id : tokens.at(key)) so_far_.push_back(id.get<int32_t>());
  }
}

}  // namespace ww::agent
