// SPDX-License-Identifier: Apache-2.0
//
// Where a model over HTTP is and how it is asked: options as a user gives them, checked and made ready. Keys come from
// an environment variable or a file only, and stay within this struct and the requests.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/wire.h"
#include "base/result.h"
#include "net/http.h"
#include "net/retry.h"

namespace ww::agent {

/// USD per million tokens.
struct Prices {
  double input = 0;
  double cached = 0;  ///< of input that the endpoint had in a cache
  double output = 0;
};

/// "INPUT,OUTPUT" or "INPUT,CACHED,OUTPUT".
Result<Prices> parse_prices(const std::string& text);

/// Nothing here is secret: it may be written into a run folder.
struct EndpointOptions {
  std::string base_url = {};            ///< "": the service that the format belongs to
  std::string key_env = {};             ///< variable that holds the key; "": the format's own, for its own service only
  std::filesystem::path key_file = {};  ///< instead of key_env
  std::vector<std::string> headers = {};  ///< "Name: value", where ${VARIABLE} stands for a variable's value
  std::string proxy = {};                 ///< "": the environment's
  std::filesystem::path ca_file = {};     ///< "": the machine's
  bool stream = true;
  std::optional<double> temperature = {};
  std::optional<int> max_tokens = {};  ///< of one reply; none: the endpoint's own limit
  std::string extra = "{}";            ///< JSON object put into every request as it is
  bool token_ids = false;              ///< ask for token ids and log-probabilities
  std::optional<Prices> prices = {};
  net::TimeLimits limits = {};
  net::RetryPolicy retry = {};
  const std::atomic<bool>* stop = nullptr;  ///< ends requests and waits, besides base/interrupt.h; may be null
};

/// Looks a variable of the environment up.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

enum class WireFormat { kOpenai, kAnthropic };

struct Endpoint {
  WireFormat format = WireFormat::kOpenai;
  std::string url = {};
  net::Headers headers = {};              ///< hold the key
  std::vector<std::string> secrets = {};  ///< what must not appear anywhere
  net::ClientSettings client = {};
  Sampling sampling = {};
  Features features = {};  ///< to begin with
  std::optional<Prices> prices = {};
  net::RetryPolicy retry = {};
};

/// `spec` is "openai:NAME" or "anthropic:NAME". The error names the option.
Result<Endpoint> make_endpoint(const std::string& spec, const EndpointOptions& options, const Variables& variables);

/// True for the two forms of make_endpoint.
bool is_endpoint_spec(const std::string& spec);

/// `text` with every secret replaced by "[key]".
std::string without_secrets(std::string text, const std::vector<std::string>& secrets);

}  // namespace ww::agent
