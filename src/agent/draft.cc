// SPDX-License-Identifier: Apache-2.0
#include "agent/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/arguments.h"
#include "agent/text_calls.h"

namespace ww::agent {
namespace {

constexpr std::string_view kThinkOpen = "<think>", kThinkClose = "</think>";

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

/// Works through a draft; each step leaves it a little more like a reply.
class Settling {
 public:
  Settling(Draft& draft, const Asked& asked) : draft_(draft), asked_(asked) {
    const bool full = asked.max_tokens && draft.usage.known && draft.usage.output >= *asked.max_tokens;
    cut_ = draft.finish == Finish::kLength || full;
    refused_ = draft.finish == Finish::kRefusal || !draft.refusal.empty();
  }

  Reply operator()() {
    move_thinking();
    if (draft_.calls.empty() && !refused_) take_calls_from_text();
    tidy_calls();
    if (refused_) refuse();
    name_calls();
    note_oddities();
    Reply reply{.text = std::move(draft_.text),
                .reasoning = std::move(draft_.reasoning),
                .echo = std::move(draft_.echo),
                .finish = finish(),
                .usage = usage(),
                .tokens = std::move(draft_.tokens)};
    for (DraftCall& call : draft_.calls) {
      reply.calls.push_back({std::move(call.id), std::move(call.tool), std::move(call.arguments)});
    }
    reply.events = std::move(draft_.events);
    return reply;
  }

 private:
  void note(std::string event) { draft_.events.push_back(std::move(event)); }

  /// Servers without a parser for it leave the thinking at the head of the text, some without its first tag.
  void move_thinking() {
    const std::string text = trimmed(draft_.text);
    const bool opened = text.starts_with(kThinkOpen);
    const size_t close = text.find(kThinkClose);
    const size_t begin = opened ? kThinkOpen.size() : 0;
    if (close == std::string::npos && !opened) return;
    if (close == std::string::npos && !cut_) return;
    // A closing tag alone is the end of thinking only where no thinking came apart from the text.
    if (!opened && !draft_.reasoning.empty()) return;
    const size_t end = std::min(close, text.size());
    draft_.reasoning += trimmed(std::string_view(text).substr(begin, end - begin));
    draft_.text = close == std::string::npos ? "" : trimmed(text.substr(close + kThinkClose.size()));
    note("thinking stood in the text and was moved");
  }

  void take_calls_from_text() {
    if (asked_.tools.empty()) return;
    if (auto found = read_text_calls(draft_.text, asked_.tools)) {
      draft_.calls = std::move(found->calls);
      draft_.text = std::move(found->text);
      if (!asked_.tools_as_text) note(fmt::format("calls stood in the text and were taken: {}", draft_.calls.size()));
      return;
    }
    if (has_call_markup(draft_.text)) note("the text holds the markup of a call that has no single reading");
    if (!has_call_markup(draft_.reasoning)) return;
    // A server that takes everything for thinking hides the call that ends it.
    auto hidden =
        trimmed(draft_.text).empty() && !cut_ ? read_text_calls(draft_.reasoning, asked_.tools) : std::nullopt;
    if (!hidden) return note("the thinking holds the markup of a call");
    draft_.calls = std::move(hidden->calls);
    draft_.reasoning = std::move(hidden->text);
    note(fmt::format("calls stood at the end of the thinking and were taken: {}", draft_.calls.size()));
  }

  void tidy_calls() {
    std::vector<DraftCall> kept;
    for (size_t i = 0; i < draft_.calls.size(); i++) {
      DraftCall& call = draft_.calls[i];
      call.tool = trimmed(call.tool);
      if (call.tool.empty() && trimmed(call.arguments).empty()) {
        note("an empty call was dropped");
        continue;
      }
      const bool last = i + 1 == draft_.calls.size();
      Arguments arguments = read_arguments(call.arguments);
      const bool never_began = cut_ && last && trimmed(call.arguments).empty();
      if (arguments.state == ArgumentsState::kCut || never_began) {
        note(fmt::format("a call of {} was cut and dropped", call.tool.empty() ? "no tool" : call.tool));
        cut_ = true;
        continue;
      }
      if (arguments.state == ArgumentsState::kBroken) arguments.note = "arguments are no JSON object";
      if (!arguments.note.empty()) note(fmt::format("{}: {}", call.tool, arguments.note));
      call.arguments = std::move(arguments.text);
      if (is_repeated(kept, call)) {
        note(fmt::format("a call of {} came twice and counts once", call.tool));
        continue;
      }
      kept.push_back(std::move(call));
    }
    draft_.calls = std::move(kept);
  }

  static bool is_repeated(const std::vector<DraftCall>& kept, const DraftCall& call) {
    return std::any_of(kept.begin(), kept.end(), [&](const DraftCall& other) {
      return !call.id.empty() && other.id == call.id && other.tool == call.tool && other.arguments == call.arguments;
    });
  }

  void refuse() {
    if (trimmed(draft_.text).empty()) draft_.text = draft_.refusal;
    if (!draft_.calls.empty()) note("calls of a refused reply were dropped");
    draft_.calls.clear();
  }

  /// Ids that are there and unique.
  void name_calls() {
    std::set<std::string> taken;
    int renamed = 0;
    for (DraftCall& call : draft_.calls) {
      if (!call.id.empty() && taken.insert(call.id).second) continue;
      for (size_t number = 1;; number++) {
        call.id = fmt::format("call_{}", number);
        const bool later = std::any_of(draft_.calls.begin(), draft_.calls.end(),
                                       [&](const DraftCall& other) { return &other != &call && other.id == call.id; });
        if (!later && taken.insert(call.id).second) break;
      }
      renamed++;
    }
    if (renamed > 0) note(fmt::format("calls without an id of their own were given one: {}", renamed));
  }

  void note_oddities() {
    if (draft_.finish == Finish::kToolCalls && draft_.calls.empty() && !cut_)
      note("the reply announced calls and has none");
    if (cut_) note("the reply was cut by its length limit");
    if (draft_.calls.empty() && trimmed(draft_.text).empty()) {
      note(draft_.reasoning.empty() ? "the reply is empty" : "the reply is nothing but thinking");
    }
  }

  Usage usage() const {
    Usage usage = draft_.usage;
    usage.cost_usd = draft_.cost_usd.value_or(0);
    return usage;
  }

  Finish finish() const {
    if (refused_) return Finish::kRefusal;
    if (cut_) return Finish::kLength;
    return draft_.calls.empty() ? Finish::kStop : Finish::kToolCalls;
  }

  Draft& draft_;
  const Asked& asked_;
  bool cut_ = false;
  bool refused_ = false;
};

}  // namespace

Answer settle(Draft draft, const Asked& asked) {
  if (draft.error) return Answer(draft.error->failure, Error{draft.error->message, ""});
  if (!draft.ended) return Answer(Failure::kCutStream, Error{"the stream ended before the reply did", ""});
  const bool nothing = draft.calls.empty() && trimmed(draft.text).empty();
  if (draft.context_full) {
    return Answer(Failure::kContextOverflow, Error{"the reply used up the model's context", ""});
  }
  // A limit that stops a reply before its first token is the context's, not the reply's.
  if (draft.finish == Finish::kLength && nothing && draft.reasoning.empty() && draft.usage.output == 0) {
    return Answer(Failure::kContextOverflow, Error{"the context has no room for a reply", ""});
  }
  if (draft.finish == Finish::kRefusal && nothing && draft.refusal.empty()) {
    return Answer(Failure::kRefused, Error{"the endpoint withheld the reply (content filter)", ""});
  }
  return Settling(draft, asked)();
}

}  // namespace ww::agent
