// SPDX-License-Identifier: Apache-2.0
//
// What answers the agent: the builtin writer, a script, an endpoint. A model is a function of the history it is shown:
// it keeps nothing between calls that the history does not hold, so that an episode resumes after any interruption.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ww::agent {

/// One use of a tool as the model wrote it. `arguments` is JSON text and may be malformed: the tool answers that.
struct ToolCall {
  std::string id;  ///< unique within the reply
  std::string tool;
  std::string arguments;
};

/// No calls: the model only spoke, and is asked to go on or to finish.
struct Reply {
  std::string text;
  std::vector<ToolCall> calls;
};

enum class Role { kSystem, kUser, kModel, kTool };

struct Message {
  Role role = Role::kUser;
  std::string text = {};             ///< what an endpoint is sent
  std::vector<ToolCall> calls = {};  ///< kModel only
  ToolCall call = {};                ///< kTool only: the call that this answers
  std::string data = {};             ///< kTool only: the result as JSON text, for models that read numbers
};

struct ToolSpec {
  std::string name;
  std::string description;
  std::string parameters;  ///< JSON schema of the arguments, as text
};

class Model {
 public:
  virtual ~Model() = default;
  /// As given to --model; written into the episode.
  virtual std::string name() const = 0;
  /// `history` only ever grows between calls. An Error ends the episode as `model_error`, which can be resumed.
  virtual Result<Reply> answer(const std::vector<Message>& history, const std::vector<ToolSpec>& tools) = 0;
};

}  // namespace ww::agent
