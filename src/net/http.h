// SPDX-License-Identifier: Apache-2.0
//
// An HTTP client: POST, the response handed on as it comes. TLS is always checked; redirects are not followed, since
// a key would go along; proxies come from the environment (http_proxy, https_proxy, no_proxy) unless one is given,
// and servers on this machine are asked without. The door to libcurl. A client belongs to one thread and keeps its
// connection between requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace ww::net {

struct Header {
  std::string name;
  std::string value;
};

using Headers = std::vector<Header>;

/// Value of the first header of this name, in any case; "" if there is none.
std::string find_header(const Headers& headers, std::string_view name);

struct UrlParts {
  std::string scheme, host, path, query;
  bool has_credentials = false;  ///< user:password@
};

/// Error where it is no URL with a scheme; it does not hold the text, which may hold a password.
Result<UrlParts> parse_url(const std::string& url);
/// True if the URL names this machine: localhost, 127.*, [::1].
bool is_loopback(const std::string& url);

struct TimeLimits {
  milliseconds connect{15'000};
  milliseconds idle{300'000};     ///< without a byte in either direction
  milliseconds total{3'600'000};  ///< of one request
};

struct ClientSettings {
  TimeLimits limits = {};
  std::string proxy = {};                   ///< URL; "": the environment's
  std::filesystem::path ca_file = {};       ///< trusted certificates (PEM); "": the machine's
  const std::atomic<bool>* stop = nullptr;  ///< besides base/interrupt.h; may be null
};

struct HttpRequest {
  std::string url;  ///< http or https
  Headers headers;
  std::string body;
};

enum class HttpEnd {
  kDone,          ///< the response is complete
  kStopped,       ///< the sink wanted no more
  kNoConnection,  ///< name, proxy, connection or handshake; nothing was sent
  kDistrust,      ///< the server's certificate is not trusted
  kTimeout,       ///< one of TimeLimits
  kBroken,        ///< the connection ended or spoke no HTTP before the response was complete
  kBadRequest,    ///< not a URL, a CA file that cannot be read, a header with a line break
};

/// A response as far as it came.
struct Exchange {
  HttpEnd end = HttpEnd::kDone;
  std::string message = {};  ///< for people, "" with kDone and kStopped; holds neither headers nor body
  int status = 0;            ///< 0: none came
  Headers headers = {};      ///< of the response, in order
};

/// Takes body bytes; `so_far` has status and headers. Returns false to want no more. What it throws, post() throws.
using BodySink = std::function<bool(const Exchange& so_far, std::string_view bytes)>;

class HttpClient {
 public:
  explicit HttpClient(ClientSettings settings);
  HttpClient(HttpClient&&) noexcept;
  ~HttpClient();

  /// Blocks until the response is there or a limit is over. Throws Fault{kInterrupted} within 0.1 s of a stop.
  Exchange post(const HttpRequest& request, const BodySink& sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ww::net
