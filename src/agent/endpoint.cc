// SPDX-License-Identifier: Apache-2.0
#include "agent/endpoint.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "agent/arguments.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"

namespace ww::agent {
namespace {

constexpr uint64_t kKeyFileLimit = 64 << 10;
/// A shorter one is no key, and would be found in any text.
constexpr size_t kShortestSecret = 6;

struct Service {
  std::string_view prefix;
  WireFormat format;
  const char* base_url;
  const char* key_env;
  const char* path;  ///< after ".../v1"
};

constexpr std::array kServices = {
    Service{"openai:", WireFormat::kOpenai, "https://api.openai.com/v1", "OPENAI_API_KEY", "/chat/completions"},
    Service{"anthropic:", WireFormat::kAnthropic, "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "/messages"}};

const Service* service_of(const std::string& spec) {
  const auto found = std::find_if(kServices.begin(), kServices.end(), [&](const Service& service) {
    return spec.starts_with(service.prefix) && spec.size() > service.prefix.size();
  });
  return found == kServices.end() ? nullptr : found;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

bool same_name(const std::string& a, const char* b) { return ::strcasecmp(a.c_str(), b) == 0; }

Result<std::string> url_of(const Service& service, const std::string& given) {
  std::string base = given.empty() ? service.base_url : given;
  const auto parts = net::parse_url(base);
  if (!parts || (parts->scheme != "http" && parts->scheme != "https")) {
    return Error{"is no http or https URL, such as http://127.0.0.1:8080/v1", "--base-url"};
  }
  if (parts->has_credentials) {
    return Error{"holds a password; give it as --header 'Authorization: Basic ${VARIABLE}'", "--base-url"};
  }
  const size_t question = base.find('?');
  const std::string query = question == std::string::npos ? "" : base.substr(question);
  base.resize(std::min(question, base.size()));
  while (base.ends_with('/')) base.pop_back();
  if (base.ends_with(service.path)) return base + query;
  // Anthropic's base URL is often written without the version.
  const bool bare = parts->path.empty() || parts->path == "/";
  if (bare || (service.format == WireFormat::kAnthropic && !base.ends_with("/v1"))) base += "/v1";
  return base + service.path + query;
}

Result<std::string> checked_key(const std::string& text, const std::string& where) {
  const std::string key = trimmed(text);
  if (key.empty()) return Error{"holds no key", where};
  if (key.find_first_of(" \t\r\n") != std::string::npos) return Error{"holds more than a key alone", where};
  return key;
}

bool same_host(const std::string& url, const std::string& other) {
  const auto a = net::parse_url(url), b = net::parse_url(other);
  return a && b && a->scheme == b->scheme && a->host == b->host;
}

/// "" where none is wanted.
Result<std::string> key_of(const Service& service, const EndpointOptions& options, const Variables& variables) {
  if (!options.key_file.empty()) {
    const auto text = read_file(options.key_file, kKeyFileLimit);
    if (!text) return text.error();
    return checked_key(*text, options.key_file.string());
  }
  // A key of one service never goes to another just because its variable is set.
  const bool own = options.base_url.empty() || same_host(options.base_url, service.base_url);
  const std::string name = !options.key_env.empty() ? options.key_env : own ? service.key_env : "";
  if (name.empty()) return std::string();
  const auto value = variables ? variables(name) : std::nullopt;
  if (!value) return Error{"is not set; it is to hold the key (or name a file with --key-file)", name};
  return checked_key(*value, name);
}

/// Replaces ${NAME}; what was put in is added to `secrets`.
Result<std::string> expanded(std::string text, const Variables& variables, std::vector<std::string>& secrets) {
  for (size_t at = 0; (at = text.find("${", at)) != std::string::npos;) {
    const size_t end = text.find('}', at);
    if (end == std::string::npos) return Error{"has ${ without }", "--header"};
    const std::string name = text.substr(at + 2, end - at - 2);
    const auto value = variables ? variables(name) : std::nullopt;
    if (!value) return Error{"is not set, but a --header names it", name};
    secrets.push_back(trimmed(*value));
    text.replace(at, end + 1 - at, secrets.back());
    at += secrets.back().size();
  }
  return text;
}

Result<net::Header> header_of(const std::string& line, const Variables& variables, std::vector<std::string>& secrets) {
  const size_t colon = line.find(':');
  const std::string name = trimmed(std::string_view(line).substr(0, colon));
  if (colon == std::string::npos || name.empty()) return Error{"is no \"Name: value\"", "--header"};
  const std::string value = trimmed(std::string_view(line).substr(colon + 1));
  const bool holds_key = same_name(name, "authorization") || same_name(name, "x-api-key") ||
                         same_name(name, "api-key") || same_name(name, "proxy-authorization") ||
                         same_name(name, "cookie");
  if (holds_key && value.find("${") == std::string::npos) {
    return Error{fmt::format("{} holds a key, which belongs in the environment: '{}: ${{VARIABLE}}'", name, name),
                 "--header"};
  }
  auto full = expanded(value, variables, secrets);
  if (!full) return full.error();
  return net::Header{name, std::move(*full)};
}

void put(net::Headers& headers, net::Header header) {
  std::erase_if(headers, [&](const net::Header& other) { return same_name(other.name, header.name.c_str()); });
  headers.push_back(std::move(header));
}

Status fill_headers(Endpoint& endpoint, const std::string& key, const EndpointOptions& options,
                    const Variables& variables) {
  put(endpoint.headers, {"Content-Type", "application/json"});
  put(endpoint.headers, {"Accept", "text/event-stream, application/json"});
  put(endpoint.headers, {"User-Agent", "warpwright"});
  if (endpoint.format == WireFormat::kAnthropic) put(endpoint.headers, {"anthropic-version", "2023-06-01"});
  if (!key.empty()) {
    const auto parts = net::parse_url(endpoint.url);
    if (parts && parts->scheme == "http" && !net::is_loopback(endpoint.url)) {
      log::warning(fmt::format("the key goes to {} unencrypted, for the base URL says http", parts->host));
    }
    endpoint.secrets.push_back(key);
    const bool bearer = endpoint.format == WireFormat::kOpenai;
    put(endpoint.headers, bearer ? net::Header{"Authorization", "Bearer " + key} : net::Header{"x-api-key", key});
  }
  for (const std::string& line : options.headers) {
    auto header = header_of(line, variables, endpoint.secrets);
    if (!header) return header.error();
    put(endpoint.headers, std::move(*header));
  }
  return Unit{};
}

Status check(const EndpointOptions& options) {
  const auto extra = parse_foreign(options.extra);
  if (!extra || !extra->is_object()) return Error{"is no JSON object, such as '{\"top_p\": 0.9}'", "--extra-body"};
  if (options.max_tokens && *options.max_tokens < 1) return Error{"is below 1", "--max-tokens"};
  if (!options.ca_file.empty()) {
    if (const auto text = read_file(options.ca_file); !text) return text.error();
  }
  if (options.proxy.empty()) return Unit{};
  const auto proxy = net::parse_url(options.proxy);
  if (!proxy) return Error{"is no URL, such as http://proxy.example:3128", "--proxy"};
  if (proxy->has_credentials) {
    return Error{"holds a password; set the variable https_proxy instead, which stays out of files", "--proxy"};
  }
  return Unit{};
}

}  // namespace

Result<Prices> parse_prices(const std::string& text) {
  std::vector<double> numbers;
  std::string_view rest = text;
  for (;;) {
    double value = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    const bool good = code == std::errc() && std::isfinite(value) && value >= 0;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (!good || numbers.size() == 3 || (!rest.empty() && rest.front() != ',')) {
      return Error{"is not INPUT,OUTPUT or INPUT,CACHED,OUTPUT in USD per million tokens, such as 3,0.3,15", text};
    }
    numbers.push_back(value);
    if (rest.empty()) break;
    rest.remove_prefix(1);
  }
  if (numbers.size() == 2) return Prices{numbers[0], numbers[0], numbers[1]};
  if (numbers.size() == 3) return Prices{numbers[0], numbers[1], numbers[2]};
  return Error{"names one price; INPUT,OUTPUT or INPUT,CACHED,OUTPUT are wanted", text};
}

bool is_endpoint_spec(const std::string& spec) { return service_of(spec) != nullptr; }

Result<Endpoint> make_endpoint(const std::string& spec, const EndpointOptions& options, const Variables& variables) {
  const Service* service = service_of(spec);
  if (service == nullptr) return Error{"is neither openai:NAME nor anthropic:NAME", spec};
  if (auto sound = check(options); !sound) return sound.error();
  auto url = url_of(*service, options.base_url);
  if (!url) return url.error();
  const auto key = key_of(*service, options, variables);
  if (!key) return key.error();
  Endpoint endpoint{.format = service->format, .url = std::move(*url)};
  if (auto filled = fill_headers(endpoint, *key, options, variables); !filled) return filled.error();
  endpoint.client = {
      .limits = options.limits, .proxy = options.proxy, .ca_file = options.ca_file, .stop = options.stop};
  endpoint.sampling = {.model = spec.substr(service->prefix.size()),
                       .temperature = options.temperature,
                       .max_tokens = options.max_tokens,
                       .token_ids = options.token_ids,
                       .extra = options.extra};
  endpoint.features.stream = options.stream;
  // OpenAI's own service refuses max_tokens for its newer models; most others know nothing else.
  endpoint.features.completion_limit =
      service->format == WireFormat::kOpenai && same_host(endpoint.url, service->base_url);
  endpoint.prices = options.prices;
  endpoint.retry = options.retry;
  return endpoint;
}

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (secret.size() < kShortestSecret) continue;
    for (size_t at = 0; (at = text.find(secret, at)) != std::string::npos;) text.replace(at, secret.size(), "[key]");
  }
  return text;
}

}  // namespace ww::agent
