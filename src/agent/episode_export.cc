// SPDX-License-Identifier: Apache-2.0
#include "agent/episode_export.h"

#include <algorithm>
#include <array>

#include "agent/history.h"
#include "agent/tools.h"
#include "base/json.h"
#include "verdict/verdict.h"

namespace ww::agent {
namespace {

std::string kind_of(const Json& event) { return event.at("event"); }

std::optional<verdict::Verdict> verdict_of(const Json& event) {
  if (kind_of(event) != "tool" || !event.at("data").contains("verdict")) return std::nullopt;
  auto verdict = verdict::from_json(event.at("data").at("verdict"));
  return verdict ? std::optional(*verdict) : std::nullopt;
}

const verdict::Ratio* eager_of(const verdict::Verdict& verdict) {
  const auto& figures = verdict.conclusion.figures();
  return verdict.passed() && figures && figures->speedup.eager ? &*figures->speedup.eager : nullptr;
}

Json message_json(const Message& message) {
  switch (message.role) {
    case Role::kSystem:
      return {{"role", "system"}, {"content", message.text}};
    case Role::kUser:
      return {{"role", "user"}, {"content", message.text}};
    case Role::kTool:
      return {
          {"role", "tool"}, {"tool_call_id", message.call.id}, {"name", message.call.tool}, {"content", message.text}};
    case Role::kModel:
      break;
  }
  Json json = {{"role", "assistant"}, {"content", message.text}};
  if (!message.reasoning.empty()) json["reasoning_content"] = message.reasoning;
  for (const ToolCall& call : message.calls) {
    json["tool_calls"].push_back(
        {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.tool}, {"arguments", call.arguments}}}});
  }
  return json;
}

Json tools_json() {
  Json tools = Json::array();
  for (const ToolSpec& spec : Tools::specs()) {
    tools.push_back(
        {{"type", "function"},
         {"function",
          {{"name", spec.name}, {"description", spec.description}, {"parameters", parse_own_json(spec.parameters)}}}});
  }
  return tools;
}

/// Tokens of a chain as trainers take them: the first prompt, and after it what was sampled (mask 1) and what was put
/// in between (mask 0).
struct ChainTokens {
  std::vector<int32_t> prompt, response;
  std::vector<int> mask;
  std::vector<float> logprobs;
  bool whole = true;  ///< every reply has tokens, and every prompt extends what came before

  void take(const Json& reply) {
    whole = whole && reply.contains("tokens");
    if (!whole) return;
    const Json& tokens = reply["tokens"];
    const auto more = tokens.at("more").get<std::vector<int32_t>>();
    const auto output = tokens.at("output").get<std::vector<int32_t>>();
    const bool first = prompt.empty() && response.empty();
    whole = first || tokens.at("kept").get<size_t>() == prompt.size() + response.size();
    if (first) {
      // After a compaction the record may count the start of the last chain as kept: then the prompt is not all here.
      whole = tokens.at("kept").get<size_t>() == 0;
      prompt = more;
    } else {
      add(more, 0, {});
    }
    add(output, 1, tokens.value("logprobs", std::vector<float>()));
  }

  void add(const std::vector<int32_t>& ids, int value, std::vector<float> probabilities) {
    probabilities.resize(ids.size(), 0.0F);
    response.insert(response.end(), ids.begin(), ids.end());
    mask.insert(mask.end(), ids.size(), value);
    logprobs.insert(logprobs.end(), probabilities.begin(), probabilities.end());
  }
};

struct Chain {
  std::vector<Message> messages;
  ChainTokens tokens;
};

std::vector<Chain> chains_of(const std::vector<Json>& events) {
  std::vector<Chain> chains;
  History history;
  ChainTokens tokens;
  for (const Json& event : events) {
    if (kind_of(event) == "compact") {
      chains.push_back({history.messages(), std::move(tokens)});
      tokens = {};
    }
    history.take(event);
    if (kind_of(event) == "reply") tokens.take(event);
  }
  chains.push_back({history.messages(), std::move(tokens)});
  for (Chain& chain : chains) {
    // A question that nobody answered teaches nothing.
    while (!chain.messages.empty() && chain.messages.back().role == Role::kUser && chain.messages.size() > 1) {
      chain.messages.pop_back();
    }
  }
  return chains;
}

std::string_view slime_status(const Json& ending) {
  if (ending == "finished") return "completed";
  if (ending == "fault") return "failed";
  const std::array limits = {"turn_limit", "context_limit", "token_limit", "time_limit", "cost_limit"};
  return std::find(limits.begin(), limits.end(), ending) != limits.end() ? "truncated" : "aborted";
}

Json verl_row(const Chain& chain, const Json& facts, const std::optional<double>& reward) {
  Json row = {{"data_source", "warpwright"},
              {"prompt", Json::array({message_json(chain.messages.front())})},
              {"ability", "kernel"},
              {"agent_name", "warpwright"},
              {"reward_model", {{"style", "rule"}, {"ground_truth", facts.at("task_id")}}},
              {"extra_info", facts}};
  const auto turns = std::count_if(chain.messages.begin(), chain.messages.end(),
                                   [](const Message& message) { return message.role == Role::kModel; });
  row["num_turns"] = turns;
  row["reward_score"] = reward ? Json(*reward) : Json();
  if (!chain.tokens.whole || chain.tokens.response.empty()) return row;
  row["prompt_ids"] = chain.tokens.prompt;
  row["response_ids"] = chain.tokens.response;
  row["response_mask"] = chain.tokens.mask;
  row["response_logprobs"] = chain.tokens.logprobs;
  return row;
}

Json slime_row(const Chain& chain, const Json& facts, const std::optional<double>& reward) {
  Json row = {{"prompt", Json::array({message_json(chain.messages.front())})},
              {"label", facts.at("task_id")},
              {"tools", tools_json()},
              {"reward", reward ? Json(*reward) : Json()},
              {"remove_sample", !reward.has_value()},
              {"status", slime_status(facts.at("ending"))},
              {"session_id", facts.at("episode")},
              {"metadata", facts}};
  if (!chain.tokens.whole || chain.tokens.response.empty()) return row;
  std::vector<int32_t> tokens = chain.tokens.prompt;
  tokens.insert(tokens.end(), chain.tokens.response.begin(), chain.tokens.response.end());
  row["tokens"] = std::move(tokens);
  row["response_length"] = chain.tokens.response.size();
  row["loss_mask"] = chain.tokens.mask;
  row["rollout_log_probs"] = chain.tokens.logprobs;
  return row;
}

}  // namespace

std::optional<ExportFormat> export_format_from_name(std::string_view name) {
  if (name == "sft") return ExportFormat::kSft;
  if (name == "verl") return ExportFormat::kVerl;
  if (name == "slime") return ExportFormat::kSlime;
  return std::nullopt;
}

Json summarise_episode(const std::vector<Json>& events) {
  const Json task = events.empty() ? Json::object() : events.front().value("task", Json::object());
  const auto word = [](const Json& object, const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string() ? object[key] : Json();
  };
  Json best;
  int64_t turns = 0, input = 0, output = 0, refused_calls = 0;
  double cost_usd = 0;
  for (const Json& event : events) {
    if (kind_of(event) == "reply") turns++;
    if (kind_of(event) == "tool" && event.at("data").contains("error")) refused_calls++;
    if (event.contains("usage")) {
      input += event["usage"].at("input").get<int64_t>();
      output += event["usage"].at("output").get<int64_t>();
      cost_usd += event["usage"].at("cost_usd").get<double>();
    }
    const auto verdict = verdict_of(event);
    const verdict::Ratio* eager = verdict ? eager_of(*verdict) : nullptr;
    if (eager && (best.is_null() || eager->low > best["low"].get<double>())) {
      best = {{"ratio", eager->ratio}, {"low", eager->low}, {"high", eager->high}};
    }
  }
  const bool ended = !events.empty() && kind_of(events.back()) == "end";
  return {{"task", word(task, "name")},
          {"task_id", word(task, "id")},
          {"model", events.empty() ? Json() : word(events.front(), "model")},
          {"turns", turns},
          {"ending", ended ? events.back().at("ending") : Json()},
          {"best", best},
          {"refused_calls", refused_calls},
          {"input_tokens", input},
          {"output_tokens", output},
          {"cost_usd", cost_usd},
          {"elapsed_s", events.empty() ? Json(0.0) : events.back().at("elapsed_s")}};
}

std::optional<double> episode_reward(const std::vector<Json>& events, reward::Kind kind) {
  const bool ended = !events.empty() && kind_of(events.back()) == "end" && events.back().at("ending") != "fault" &&
                     events.back().at("ending") != "interrupted";
  if (!ended) return std::nullopt;
  std::optional<verdict::Verdict> best;
  for (const Json& event : events) {
    const auto verdict = verdict_of(event);
    if (!verdict) continue;
    const verdict::Ratio* eager = eager_of(*verdict);
    const verdict::Ratio* before = best ? eager_of(*best) : nullptr;
    if (!before || (eager && eager->low > before->low)) best = verdict;
  }
  return best ? reward::reward(kind, *best) : std::optional(reward::kFailed);
}

std::vector<Json> export_episode(const std::vector<Json>& events, ExportFormat format, const std::string& session,
                                 reward::Kind kind) {
  const auto reward = episode_reward(events, kind);
  Json facts = summarise_episode(events);
  facts["episode"] = session;
  facts["reward"] = reward ? Json(*reward) : Json();
  std::vector<Json> rows;
  if (events.empty()) return rows;
  for (const Chain& chain : chains_of(events)) {
    facts["chain"] = rows.size() + 1;
    if (format == ExportFormat::kVerl) rows.push_back(verl_row(chain, facts, reward));
    if (format == ExportFormat::kSlime) rows.push_back(slime_row(chain, facts, reward));
    if (format != ExportFormat::kSft) continue;
    Json messages = Json::array();
    for (const Message& message : chain.messages) messages.push_back(message_json(message));
    rows.push_back({{"messages", std::move(messages)}, {"tools", tools_json()}, {"metadata", facts}});
  }
  return rows;
}

}  // namespace ww::agent
