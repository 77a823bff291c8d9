// SPDX-License-Identifier: Apache-2.0
#include "agent/loop.h"

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <optional>

#include "agent/history.h"
#include "agent/repeats.h"
#include "agent/token_record.h"
#include "base/json.h"

namespace ww::agent {
namespace {

constexpr int kMostSilentReplies = 4;    // without a call, one after the other
constexpr int64_t kReplyReserve = 1024;  // tokens: with less room left no reply is worth asking for

size_t tool_bytes() {
  size_t bytes = 0;
  for (const ToolSpec& spec : Tools::specs())
    bytes += spec.name.size() + spec.description.size() + spec.parameters.size();
  return bytes;
}

std::string_view name(Finish finish) {
  switch (finish) {
    case Finish::kStop:
      return "stop";
    case Finish::kToolCalls:
      return "tool_calls";
    case Finish::kLength:
      return "length";
    case Finish::kRefusal:
      return "refusal";
  }
  return "";
}

std::string_view name(Failure failure) {
  switch (failure) {
    case Failure::kOther:
      return "other";
    case Failure::kTransient:
      return "transient";
    case Failure::kContextOverflow:
      return "context_overflow";
    case Failure::kAuthentication:
      return "authentication";
    case Failure::kBadRequest:
      return "bad_request";
    case Failure::kRefused:
      return "refused";
    case Failure::kCutStream:
      return "cut_stream";
  }
  return "";
}

/// Keys that say nothing are left out.
Json reply_event(const Reply& reply, int turn) {
  Json calls = Json::array();
  for (const ToolCall& call : reply.calls) {
    calls.push_back({{"id", call.id}, {"tool", call.tool}, {"arguments", call.arguments}});
  }
  Json event = {{"event", "reply"},
                {"turn", turn},
                {"text", reply.text},
                {"calls", std::move(calls)},
                {"finish", name(reply.finish)}};
  if (!reply.reasoning.empty()) event["reasoning"] = reply.reasoning;
  if (!reply.echo.empty()) event["echo"] = reply.echo;
  if (!reply.events.empty()) event["noted"] = reply.events;
  if (reply.usage.known || reply.usage.cost_usd > 0) {
    event["usage"] = {{"input", reply.usage.input},
                      {"cached", reply.usage.cached},
                      {"output", reply.usage.output},
                      {"cost_usd", reply.usage.cost_usd}};
  }
  return event;
}

/// One process's share of an episode: from where the file stands to an ending.
class Sitting {
 public:
  Sitting(Episode& episode, Model& model, Tools& tools, const LoopSettings& settings)
      : episode_(episode),
        model_(model),
        tools_(tools),
        settings_(settings),
        sat_down_(now()),
        history_(tool_bytes()) {}

  Result<EpisodeEnd> run() {
    const std::vector<Json> past = episode_.take_events();
    elapsed_before_s_ = past.back().at("elapsed_s");
    const bool ended = kind(past.back()) == "end";
    const bool for_good = ended && !resumable(past.back().at("ending").get<std::string>());
    if (!for_good) tools_.begin_again();
    for (const Json& event : past) {
      if (!for_good && kind(event) == "tool") tools_.restore(pending_.front(), event.at("data"));
      take(event);
    }
    if (for_good) return stored_end(past.back());
    try {
      if (ended) append(Json{{"event", "resume"}});
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
  double elapsed_s() const { return elapsed_before_s_ + to_seconds(now() - sat_down_); }

  Result<EpisodeEnd> stored_end(const Json& event) const {
    const auto ending = ending_from_name(event.at("ending").get<std::string>());
    if (!ending) return ending.error();
    return EpisodeEnd{*ending, event.at("reason"), spend_};
  }

  void append(Json event) {
    event["elapsed_s"] = elapsed_s();
    episode_.append(event);
    take(event);
    if (settings_.on_event) settings_.on_event(event, spend_);
  }

  /// Everything that the loop knows follows from the events, so that going on is as if there had been no break.
  void take(const Json& event) {
    history_.take(event);
    const std::string what = kind(event);
    if (what == "reply") take_reply(event);
    if (what == "tool") take_result(event);
    if (what == "notice") told_ = true;
    if (what == "compact") {
      compacted_ = true;
      tokens_ = {};
    }
    if (what == "resume") {
      // Someone wants it to go on: a new chance.
      repeats_ = {};
      silent_replies_ = 0;
      refused_ = false;
    }
    spend_.context_tokens = history_.tokens();
  }

  void take_reply(const Json& event) {
    spend_.turns++;
    const auto calls = calls_of(event);
    pending_.assign(calls.begin(), calls.end());
    silent_replies_ = calls.empty() ? silent_replies_ + 1 : 0;
    refused_ = event.value("finish", std::string()) == name(Finish::kRefusal);
    tokens_.take(event);
    if (event.contains("usage")) {
      spend_.input_tokens += event["usage"].at("input").get<int64_t>();
      spend_.output_tokens += event["usage"].at("output").get<int64_t>();
      spend_.cost_usd += event["usage"].at("cost_usd").get<double>();
    }
    turn_hash_ = 0;
    for (const ToolCall& call : calls) mix(call.tool + '\0' + call.arguments);
    if (calls.empty()) mix(event.at("text").get<std::string>());
    if (calls.empty()) end_of_turn();
  }

  void take_result(const Json& event) {
    // Times are new with every judging: there the request says what was repeated.
    if (!event.at("data").contains("verdict")) mix(event.at("text").get<std::string>());
    pending_.pop_front();
    answered_++;
    finished_ = finished_ || event.at("data").contains("finished");
    if (pending_.empty()) end_of_turn();
  }

  void mix(const std::string& text) { turn_hash_ = turn_hash_ * 1'000'003 + std::hash<std::string>()(text); }

  void end_of_turn() {
    repeats_.add(turn_hash_);
    if (repeats_.rounds() < Repeats::kTell) told_ = false;
  }

  std::optional<EpisodeEnd> step() {
    if (finished_) return EpisodeEnd{Ending::kFinished, "the model finished"};
    if (settings_.interrupted && *settings_.interrupted) return EpisodeEnd{Ending::kInterrupted, "interrupted"};
    if (const auto end = used_up()) return end;
    if (!pending_.empty()) {
      use_tool();
      return std::nullopt;
    }
    if (spend_.turns >= settings_.limits.turns) {
      return EpisodeEnd{Ending::kTurnLimit, fmt::format("the limit of {} turns is used up", settings_.limits.turns)};
    }
    if (const auto end = useless()) return end;
    return ask_model();
  }

  std::optional<EpisodeEnd> used_up() const {
    const Limits& limits = settings_.limits;
    if (elapsed_s() > static_cast<double>(limits.wall.count())) {
      return EpisodeEnd{Ending::kTimeLimit, fmt::format("the limit of {} s is used up", limits.wall.count())};
    }
    if (limits.tokens > 0 && spend_.input_tokens + spend_.output_tokens >= limits.tokens) {
      return EpisodeEnd{Ending::kTokenLimit, fmt::format("the limit of {} tokens is used up", limits.tokens)};
    }
    if (limits.cost_usd > 0 && spend_.cost_usd >= limits.cost_usd) {
      return EpisodeEnd{Ending::kCostLimit, fmt::format("the limit of {:.2f} USD is used up", limits.cost_usd)};
    }
    return std::nullopt;
  }

  /// Where another question would lead nowhere. A model that goes in circles is told once before.
  std::optional<EpisodeEnd> useless() {
    if (refused_) return EpisodeEnd{Ending::kModelError, "the model refused to answer"};
    if (silent_replies_ >= kMostSilentReplies) {
      return EpisodeEnd{Ending::kModelError, fmt::format("{} replies in a row called no tool", silent_replies_)};
    }
    if (repeats_.rounds() >= Repeats::kEnd) {
      return EpisodeEnd{Ending::kModelError, fmt::format("the model repeats itself: the same turn {} times, with the "
                                                         "same results",
                                                         repeats_.rounds())};
    }
    if (repeats_.rounds() >= Repeats::kTell && !told_) {
      append(Json{{"event", "notice"},
                  {"text", fmt::format("You have done the same {} times now, with the same results. Do something else, "
                                       "or call finish.",
                                       repeats_.rounds())}});
    }
    return std::nullopt;
  }

  void use_tool() {
    const ToolCall call = pending_.front();
    const nanoseconds start = now();
    const ToolResult result = tools_.call(call, answered_ + 1);
    append(Json{{"event", "tool"},
                {"turn", spend_.turns},
                {"id", call.id},
                {"tool", call.tool},
                {"text", result.text},
                {"data", parse_own_json(result.data)},
                {"took_s", to_seconds(now() - start)}});
  }

  std::optional<EpisodeEnd> ask_model() {
    const int64_t limit = settings_.limits.context_tokens;
    if (limit > 0 && spend_.context_tokens + kReplyReserve > limit) {
      return make_room(fmt::format("the limit of {} tokens of context is used up", limit));
    }
    episode_.sync();
    const nanoseconds start = now();
    const auto reply = model_.answer(history_.messages(), Tools::specs());
    if (!reply) {
      if (reply.failure() == Failure::kContextOverflow) return make_room(reply.error().text());
      return EpisodeEnd{Ending::kModelError, fmt::format("{} ({})", reply.error().text(), name(reply.failure()))};
    }
    Json event = reply_event(*reply, spend_.turns + 1);
    event["took_s"] = to_seconds(now() - start);
    if (!reply->tokens.output.empty()) event["tokens"] = tokens_.record(reply->tokens);
    append(std::move(event));
    return std::nullopt;
  }

  /// The context is full: the end, or where it was asked for, once, a new chain from a summary.
  std::optional<EpisodeEnd> make_room(const std::string& reason) {
    if (!settings_.compact || compacted_) return EpisodeEnd{Ending::kContextLimit, reason};
    append(Json{{"event", "compact"},
                {"replies", spend_.turns},
                {"reason", reason},
                {"text", fmt::format("You have worked on this for {} turns already; what was said is left out to make "
                                     "room. This is where things stand.\n\n{}",
                                     spend_.turns, tools_.situation())}});
    return std::nullopt;
  }

  EpisodeEnd record(EpisodeEnd end) {
    append(Json{{"event", "end"}, {"ending", agent::name(end.ending)}, {"reason", end.reason}});
    episode_.sync();
    end.spend = spend_;
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
  History history_;
  TokenRecord tokens_;
  Repeats repeats_;
  Spend spend_;
  int answered_ = 0;  ///< tool calls that have a result
  int silent_replies_ = 0;
  uint64_t turn_hash_ = 0;
  bool finished_ = false, refused_ = false, told_ = false, compacted_ = false;
  std::deque<ToolCall> pending_;
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
  episode.sync();
}

Result<EpisodeEnd> run_episode(Episode& episode, Model& model, Tools& tools, const LoopSettings& settings) {
  WW_CHECK(!episode.events().empty(), "an episode begins with its task");
  return Sitting(episode, model, tools, settings).run();
}

}  // namespace ww::agent
