// SPDX-License-Identifier: Apache-2.0
//
// A wire format: our messages and tools to a request's JSON text, a response's JSON to a draft. Knows nothing of
// connections, keys and retries; every function is pure, a reader holds the draft that it reads and nothing else.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/draft.h"
#include "agent/model.h"
#include "base/json_fwd.h"
#include "net/sse.h"

namespace ww::agent {

/// How a message without text is written where the format wants a "content": servers differ in what they take.
enum class EmptyContent { kNull, kEmpty, kAbsent };

/// What an endpoint takes. The defaults are asked for first; what it refuses is found out by probes (http_model.h).
struct Features {
  bool stream = true;
  bool stream_usage = true;       ///< stream_options.include_usage
  bool tools = true;              ///< otherwise they are described and called as text
  bool completion_limit = false;  ///< the limit is max_completion_tokens, not max_tokens
  bool reasoning_back = true;     ///< earlier reasoning may be sent back
  EmptyContent empty = EmptyContent::kNull;

  bool operator==(const Features&) const = default;
};

/// What is asked for besides the conversation.
struct Sampling {
  std::string model = {};
  std::optional<double> temperature = {};
  std::optional<int> max_tokens = {};
  bool token_ids = false;    ///< ask for token ids and log-probabilities (vLLM, SGLang)
  std::string extra = "{}";  ///< JSON object whose members are put into the request as they are
};

/// Reads one response.
class DraftReader {
 public:
  virtual ~DraftReader() = default;
  /// One event of a stream.
  virtual void take_event(const net::SseEvent& event) = 0;
  /// The response in one piece.
  virtual void take_body(const Json& body) = 0;
  /// No further event is needed.
  virtual bool complete() const = 0;
  /// What came so far, for good: the reader is spent.
  virtual Draft take_draft() = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual std::string request(const std::vector<Message>& history, const std::vector<ToolSpec>& tools,
                              const Sampling& sampling, const Features& features) const = 0;
  virtual std::unique_ptr<DraftReader> reader() const = 0;
};

std::unique_ptr<Wire> make_openai_wire();
std::unique_ptr<Wire> make_anthropic_wire();

/// Ids of calls that are unique over a conversation, which formats demand and servers do not always give.
class CallIds {
 public:
  std::string of_call(const std::string& id);
  /// Of the answer to the last call with this id.
  std::string of_answer(const std::string& id) const;

 private:
  std::set<std::string> taken_;
  std::map<std::string, std::string> last_;
};

/// A tool's name as formats allow it: a model can write any text there.
std::string sendable_name(const std::string& tool);

/// What stands for a message of the model that has neither text nor calls, which servers refuse.
inline constexpr const char* kNoText = "(nothing)";

// Reading JSON of others: what is missing or of another type is as good as empty.
std::string text_at(const Json& json, const char* key);
int64_t number_at(const Json& json, const char* key);
/// A null where there is none.
const Json& at(const Json& json, const char* key);
/// JSON text, whatever bytes its strings hold.
std::string dump(const Json& json);

}  // namespace ww::agent
