// SPDX-License-Identifier: Apache-2.0
#include "agent/endpoint_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "agent/arguments.h"
#include "base/json.h"
#include "net/retry.h"

namespace ww::agent {
namespace {

constexpr size_t kLongestMessage = 400;

/// What servers call their errors, from the shapes that occur: {"error": {...}}, {"error": "..."}, [{"error": ...}],
/// {"object": "error", "message": ...}, {"detail": ...}, {"type": "error", "error": {...}}.
struct Fields {
  std::string message = {}, type = {}, code = {};
  int status = 0;  ///< a status code given inside
};

std::string text_of(const Json& json, const char* key) {
  if (!json.contains(key)) return "";
  if (json[key].is_string()) return json[key].get<std::string>();
  return json[key].is_null() ? "" : json[key].dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Fields> fields_of(const Json& json) {
  if (json.is_array() && !json.empty()) return fields_of(json[0]);
  if (!json.is_object()) return std::nullopt;
  if (json.contains("error") && json["error"].is_string()) return Fields{.message = json["error"]};
  const bool nested = json.contains("error") && json["error"].is_object();
  const bool flat = json.value("object", Json()) == "error" || json.contains("detail");
  if (!nested && !flat) return std::nullopt;
  const Json& error = nested ? json["error"] : json;
  Fields fields{text_of(error, "message"), text_of(error, "type"), text_of(error, "code")};
  if (fields.message.empty()) fields.message = text_of(error, "detail");
  if (error.contains("code") && error["code"].is_number_integer()) {
    fields.status = error["code"].get<int>();
    fields.code.clear();
  }
  // Gateways pass on what another server said, whole.
  if (error.contains("metadata") && error["metadata"].is_object()) {
    const std::string raw = text_of(error["metadata"], "raw");
    if (!raw.empty()) fields.message += ": " + raw;
  }
  return fields;
}

std::string lower(std::string_view text) {
  std::string copy(text);
  std::transform(copy.begin(), copy.end(), copy.begin(), [](unsigned char c) { return std::tolower(c); });
  return copy;
}

bool tells_overflow(const Fields& fields) {
  if (fields.code == "context_length_exceeded" || fields.type == "exceed_context_size_error") return true;
  constexpr std::array kWords = {
      "context length",            // OpenAI, vLLM, SGLang
      "context size",              // llama.cpp
      "context window",            // Ollama, LM Studio
      "context limit",             // Anthropic: "input length and `max_tokens` exceed context limit"
      "prompt is too long",        // Anthropic
      "input is too long",         // Bedrock
      "longer than the model",     // SGLang
      "maximum number of tokens",  // Gemini: "input token count exceeds the maximum number of tokens allowed"
      "max_new_tokens` must be",   // TGI
      "at least 1, got -",         // vLLM, where the prompt leaves a negative rest
  };
  const std::string message = lower(fields.message);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](const char* words) { return message.find(words) != std::string::npos; });
}

/// Error names with a meaning of their own, whatever the status.
std::optional<Failure> failure_of_name(const std::string& name) {
  constexpr std::pair<std::string_view, Failure> kNames[] = {
      {"insufficient_quota", Failure::kAuthentication},
      {"authentication_error", Failure::kAuthentication},
      {"permission_error", Failure::kAuthentication},
      {"invalid_api_key", Failure::kAuthentication},
      {"billing_error", Failure::kAuthentication},
      {"request_too_large", Failure::kContextOverflow},
      {"content_filter", Failure::kRefused},
      {"content_policy_violation", Failure::kRefused},
      {"overloaded_error", Failure::kTransient},
      {"rate_limit_error", Failure::kTransient},
      {"api_error", Failure::kTransient},
      {"server_error", Failure::kTransient},
      {"timeout_error", Failure::kTransient},
      {"invalid_request_error", Failure::kBadRequest},
      {"not_found_error", Failure::kBadRequest},
  };
  for (const auto& [known, failure] : kNames) {
    if (name == known) return failure;
  }
  return std::nullopt;
}

Failure failure_of_status(int status) {
  if (status == 401 || status == 402 || status == 403) return Failure::kAuthentication;
  if (status == 413) return Failure::kContextOverflow;
  if (net::is_transient(status)) return Failure::kTransient;
  if (status >= 400 && status < 500) return Failure::kBadRequest;
  return status >= 500 ? Failure::kTransient : Failure::kOther;
}

Failure failure_of(int status, const Fields& fields) {
  if (status != 401 && status != 403 && status != 429 && tells_overflow(fields)) return Failure::kContextOverflow;
  const auto by_code = failure_of_name(fields.code);
  const auto by_type = failure_of_name(fields.type);
  // OpenAI calls a wrong key an "invalid_request_error" with a code: the code is the finer word.
  if (by_code) return *by_code;
  if (status >= 400 && (!by_type || *by_type == Failure::kBadRequest)) return failure_of_status(status);
  return by_type.value_or(Failure::kOther);
}

std::string for_people(std::string_view text) {
  std::string clean;
  for (const char each : text.substr(0, kLongestMessage)) {
    const auto c = static_cast<unsigned char>(each);
    if (c >= ' ' && c != 0x7f) {
      clean += each;
    } else if (!clean.empty() && clean.back() != ' ') {
      clean += ' ';
    }
  }
  // Not within a character of several bytes.
  while (text.size() > kLongestMessage && !clean.empty() && (clean.back() & 0x80)) clean.pop_back();
  return text.size() > kLongestMessage ? clean + "..." : clean;
}

bool is_html(std::string_view body) {
  const size_t first = body.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string_view::npos && body[first] == '<';
}

std::string describe_page(std::string_view body) {
  const std::string text = lower(body);
  const size_t open = text.find("<title>"), close = text.find("</title>");
  if (open == std::string::npos || close == std::string::npos || close < open + 7) return "an HTML page";
  return fmt::format("an HTML page, \"{}\"", for_people(body.substr(open + 7, close - open - 7)));
}

std::string described(const Fields& fields) {
  std::string name = fields.code.empty() ? fields.type : fields.code;
  if (!name.empty()) name = fmt::format(" ({})", for_people(name));
  return for_people(fields.message) + name;
}

std::string hint_of(int status) {
  if (status >= 300 && status < 400) return "; the endpoint has moved, give its new base URL";
  if (status == 404) return "; check the model's name and the base URL";
  return "";
}

}  // namespace

WireError error_of_status(int status, std::string_view body) {
  const std::string head = fmt::format("HTTP {}", status);
  if (is_html(body))
    return {failure_of_status(status), fmt::format("{}: {}{}", head, describe_page(body), hint_of(status))};
  const auto json = parse_foreign(body);
  const auto fields = json ? fields_of(*json) : std::nullopt;
  if (!fields) {
    const std::string text = for_people(body);
    return {failure_of(status, {.message = text}), head + (text.empty() ? "" : ": " + text) + hint_of(status)};
  }
  return {failure_of(status, *fields), fmt::format("{}: {}{}", head, described(*fields), hint_of(status))};
}

std::optional<WireError> error_of_json(const Json& json) {
  const auto fields = fields_of(json);
  if (!fields) return std::nullopt;
  return WireError{failure_of(fields->status, *fields), "the endpoint reported: " + described(*fields)};
}

WireError error_of_no_json(std::string_view body) {
  if (is_html(body)) {
    return {Failure::kBadRequest, fmt::format("answered with {}; check the base URL", describe_page(body))};
  }
  if (body.empty()) return {Failure::kCutStream, "the response is empty"};
  return {Failure::kCutStream, "the response is no JSON: " + for_people(body.substr(0, 100))};
}

}  // namespace ww::agent
