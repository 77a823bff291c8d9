// SPDX-License-Identifier: Apache-2.0
//
// A reply as an endpoint gave it, before it is trusted, and what it becomes: one place for everything that endpoints
// get wrong, whatever their format. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/model.h"

namespace ww::agent {

struct DraftCall {
  std::string id = {};  ///< "" where the endpoint gave none
  std::string tool = {};
  std::string arguments = {};  ///< as written, in one piece
};

struct WireError {
  Failure failure = Failure::kOther;
  std::string message = {};
};

struct Draft {
  std::string text = {};
  std::string reasoning = {};
  std::string refusal = {};  ///< text of its own where the format has it
  std::string echo = {};     ///< Reply::echo
  std::vector<DraftCall> calls = {};
  std::optional<Finish> finish = {};    ///< as the endpoint claims
  bool context_full = false;            ///< it says that the context is used up
  bool ended = false;                   ///< it said that the reply is over
  Usage usage = {};                     ///< without cost
  std::optional<double> cost_usd = {};  ///< where the endpoint reports it
  Tokens tokens = {};
  std::vector<std::string> events = {};
  std::optional<WireError> error = {};  ///< the body or the stream was an error
};

/// What was asked for.
struct Asked {
  std::vector<ToolSpec> tools = {};
  std::optional<int> max_tokens = {};
  bool tools_as_text = false;  ///< calls are expected as text (agent/text_tools.h)
};

/// Errors: kCutStream where the draft never ended, kContextOverflow, kRefused where nothing but a refusal came, and the
/// draft's own. A call that was cut is dropped and makes the reply kLength; calls that stand in the text are taken
/// where that is unambiguous; arguments that cannot be read stay as they are. All of it is noted in `events`.
Answer settle(Draft draft, const Asked& asked);

}  // namespace ww::agent
