// SPDX-License-Identifier: Apache-2.0
//
// What answers the agent: the builtin writer, a script, an endpoint. A model is a function of the history it is shown:
// it keeps nothing between calls that the history does not hold, so that an episode resumes after any interruption.
#pragma once

#include <cstdint>
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

/// What one reply took, with tries that gave nothing where the endpoint counted them. `cached` is part of `input`. Zero
/// where the endpoint does not say.
struct Usage {
  int64_t input = 0;   ///< tokens
  int64_t cached = 0;  ///< tokens
  int64_t output = 0;  ///< tokens, reasoning included
  double cost_usd = 0;
  bool known = false;  ///< the endpoint reported the tokens
};

/// Why the reply is over. kLength: cut by a limit on its length; a call that was cut is not among `calls`.
enum class Finish { kStop, kToolCalls, kLength, kRefusal };

/// Tokens word for word, for trainers; empty where the endpoint does not give them.
struct Tokens {
  std::vector<int32_t> prompt = {};
  std::vector<int32_t> output = {};
  std::vector<float> logprobs = {};  ///< of `output`
};

/// No calls: the model only spoke, and is asked to go on or to finish.
struct Reply {
  std::string text = {};
  std::vector<ToolCall> calls = {};
  std::string reasoning = {};  ///< apart from `text`
  std::string echo = {};       ///< JSON text that the endpoint wants back word for word with this reply; "": nothing
  Finish finish = Finish::kStop;
  Usage usage = {};
  Tokens tokens = {};
  std::vector<std::string> events = {};  ///< what was odd and how it was taken, a short sentence each
};

enum class Role { kSystem, kUser, kModel, kTool };

struct Message {
  Role role = Role::kUser;
  std::string text = {};             ///< what an endpoint is sent
  std::vector<ToolCall> calls = {};  ///< kModel only
  std::string reasoning = {};        ///< kModel only: Reply::reasoning
  std::string echo = {};             ///< kModel only: Reply::echo
  ToolCall call = {};                ///< kTool only: the call that this answers
  /// kTool: the result as JSON text, for models that read numbers. The first message after a compaction:
  /// {"replies": N}, how many replies came before it.
  std::string data = {};
};

struct ToolSpec {
  std::string name;
  std::string description;
  std::string parameters;  ///< JSON schema of the arguments, as text
};

/// Why there is no reply. kTransient: the tries are used up, later it may work. kOther: nothing of the below.
enum class Failure { kOther, kTransient, kContextOverflow, kAuthentication, kBadRequest, kRefused, kCutStream };

/// A reply, or why there is none, for people and as a kind.
class Answer : public Result<Reply> {
 public:
  Answer(Reply reply) : Result(std::move(reply)) {}  // NOLINT: implicit by intent
  Answer(Error error) : Result(std::move(error)) {}  // NOLINT
  Answer(Failure failure, Error error) : Result(std::move(error)), failure_(failure) {}

  /// Requires: !ok().
  Failure failure() const { return failure_; }

 private:
  Failure failure_ = Failure::kOther;
};

class Model {
 public:
  virtual ~Model() = default;
  /// As given to --model; written into the episode.
  virtual std::string name() const = 0;
  /// `history` only ever grows between calls. An Error ends the episode as `model_error`, which can be resumed.
  /// Throws Fault{kInterrupted} where a stop is asked for meanwhile.
  virtual Answer answer(const std::vector<Message>& history, const std::vector<ToolSpec>& tools) = 0;
};

}  // namespace ww::agent
