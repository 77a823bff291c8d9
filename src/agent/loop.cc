// SPDX-License-Identifier: Apache-2.0
#include "agent/loop.h"

#include <fmt/format.h>

#include "base/json.h"

namespace ww::agent {
namespace {

/// One process's share of an episode: from where the file stands to an ending.
class Sitting {
 public:
  Sitting(Episode& episode, Model& model, Tools& tools, const LoopSettings& settings)
      : episode_(episode), model_(model), tools_(tools), settings_(settings), sat_down_(now()) {
    elapsed_before_s_ = last().at("elapsed_s");
  }

  EpisodeEnd run() {
    if (kind(last()) == "end") {
      if (!resumable(last().at("ending").get<std::string>())) return stored_end();
      append(Json{{"event", "resume"}});
    }
    catch_up();
    try {
      for (;;) {
        if (const auto end = step()) return record(*end);
      }
    } catch (const Fault& fault) {
      if (fault.kind() == Fault::Kind::kInterrupted) return record({Ending::kInterrupted, "interrupted"});
      record_fault(fault);
      throw;
    }
  }

 private:
  static std::string kind(const Json& event) { return event.at("event"); }
  const Json& last() const { return episode_.events().back(); }
  double elapsed_s() const { return elapsed_before_s_ + to_seconds(now() - sat_down_); }

  void append(Json event) {
    event["elapsed_s"] = elapsed_s();
    episode_.append(event);
    if (settings_.on_event) settings_.on_event(episode_.events().back());
  }

  EpisodeEnd stored_end() const {
    for (const Ending ending : {Ending::kFinished, Ending::kTurnLimit, Ending::kTimeLimit}) {
      if (last().at("ending") == name(ending)) return {ending, last().at("reason")};
    }
    throw Fault(Fault::Kind::kProtocol, "the episode ends with an unknown ending: " + last().at("ending").dump());
  }

  /// Counts what has happened, brings the workspace up to it, and finds the calls that still want an answer.
  void catch_up() {
    std::vector<ToolCall> answered;
    for (const Json& event : episode_.events()) {
      if (kind(event) == "reply") {
        turns_++;
        pending_ = calls_of(event);
      } else if (kind(event) == "tool") {
        answered.push_back(pending_.front());
        pending_.erase(pending_.begin());
        finished_ = event.at("data").contains("finished");
      }
    }
    answered_ = static_cast<int>(answered.size());
    tools_.replay(answered);
  }

  std::optional<EpisodeEnd> step() {
    if (finished_) return EpisodeEnd{Ending::kFinished, "the model finished"};
    if (settings_.interrupted && *settings_.interrupted) return EpisodeEnd{Ending::kInterrupted, "interrupted"};
    if (elapsed_s() > static_cast<double>(settings_.limits.wall.count())) {
      return EpisodeEnd{Ending::kTimeLimit, fmt::format("the limit of {} s is used up", settings_.limits.wall.count())};
    }
    if (!pending_.empty()) {
      use_tool();
      return std::nullopt;
    }
    if (turns_ >= settings_.limits.turns) {
      return EpisodeEnd{Ending::kTurnLimit, fmt::format("the limit of {} turns is used up", settings_.limits.turns)};
    }
    return ask_model();
  }

  void use_tool() {
    const ToolCall call = pending_.front();
    const nanoseconds start = now();
    const ToolResult result = tools_.call(call, answered_ + 1);
    const Json data = parse_own_json(result.data);
    append(Json{{"event", "tool"},
                {"turn", turns_},
                {"id", call.id},
                {"tool", call.tool},
                {"text", result.text},
                {"data", data},
                {"took_s", to_seconds(now() - start)}});
    pending_.erase(pending_.begin());
    answered_++;
    finished_ = data.contains("finished");
  }

  std::optional<EpisodeEnd> ask_model() {
    const auto reply = model_.answer(history_of(episode_.events()), Tools::specs());
    if (!reply) return EpisodeEnd{Ending::kModelError, reply.error().text()};
    Json calls = Json::array();
    for (const auto& call : reply->calls) {
      calls.push_back({{"id", call.id}, {"tool", call.tool}, {"arguments", call.arguments}});
    }
    append(Json{{"event", "reply"}, {"turn", ++turns_}, {"text", reply->text}, {"calls", calls}});
    pending_ = reply->calls;
    return std::nullopt;
  }

  EpisodeEnd record(const EpisodeEnd& end) {
    append(Json{{"event", "end"}, {"ending", name(end.ending)}, {"reason", end.reason}});
    return end;
  }

  /// The disk may be what failed: then the fault that is thrown on says so, and the file ends with the last turn.
  void record_fault(const Fault& fault) {
    try {
      record({Ending::kFault, fault.what()});
    } catch (const Fault&) {
    }
  }

  Episode& episode_;
  Model& model_;
  Tools& tools_;
  const LoopSettings& settings_;
  nanoseconds sat_down_;
  double elapsed_before_s_ = 0;
  int turns_ = 0;
  int answered_ = 0;  ///< tool calls that have a result
  bool finished_ = false;
  std::vector<ToolCall> pending_;
};

}  // namespace

void begin_episode(Episode& episode, const Model& model, const std::string& prompt, const Json& task,
                   const Json& settings) {
  WW_CHECK(episode.events().empty(), "an episode begins once");
  episode.append(Json{{"event", "start"},
                      {"schema", kEpisodeSchema},
                      {"task", task},
                      {"model", model.name()},
                      {"settings", settings},
                      {"prompt", prompt},
                      {"elapsed_s", 0.0}});
}

EpisodeEnd run_episode(Episode& episode, Model& model, Tools& tools, const LoopSettings& settings) {
  WW_CHECK(!episode.events().empty(), "an episode begins with its task");
  return Sitting(episode, model, tools, settings).run();
}

}  // namespace ww::agent
