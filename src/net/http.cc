// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <new>

#include "base/fault.h"
#include "base/interrupt.h"

namespace ww::net {
namespace {

constexpr milliseconds kStopLatency{100};

struct CloseEasy {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct CloseMulti {
  void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, CloseEasy>;
using Multi = std::unique_ptr<CURLM, CloseMulti>;
using List = std::unique_ptr<curl_slist, FreeList>;

void initialise_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw Fault(Fault::Kind::kSystem, "libcurl does not start");
  });
}

template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  WW_CHECK(code == CURLE_OK, curl_easy_strerror(code));
}

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

HttpEnd end_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpEnd::kDone;
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CACERT_BADFILE:
      return HttpEnd::kBadRequest;
    case CURLE_PEER_FAILED_VERIFICATION:
      return HttpEnd::kDistrust;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_SSL_CONNECT_ERROR:
      return HttpEnd::kNoConnection;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpEnd::kTimeout;
    default:
      return HttpEnd::kBroken;
  }
}

/// One request under way.
class Transfer {
 public:
  Transfer(CURL* easy, const BodySink& sink) : easy_(easy), sink_(sink), last_byte_(now()) {
    set(easy_, CURLOPT_ERRORBUFFER, reason_.data());
    set(easy_, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(easy_, CURLOPT_HEADERDATA, this);
    set(easy_, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(easy_, CURLOPT_WRITEDATA, this);
  }
  Transfer(const Transfer&) = delete;

  nanoseconds last_byte() {
    curl_off_t sent = 0;
    curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (sent != sent_) last_byte_ = now();
    sent_ = sent;
    return last_byte_;
  }

  Exchange finish(CURLcode code) {
    if (thrown_) std::rethrow_exception(thrown_);
    exchange_.end = stopped_ ? HttpEnd::kStopped : end_of(code);
    if (exchange_.end == HttpEnd::kDone || stopped_) return std::move(exchange_);
    exchange_.message = reason_[0] != '\0' ? reason_.data() : curl_easy_strerror(code);
    return std::move(exchange_);
  }

  Exchange time_out(std::string_view limit, milliseconds value) {
    exchange_.end = HttpEnd::kTimeout;
    exchange_.message = fmt::format("{} {:.3g} s", limit, to_seconds(value));
    return std::move(exchange_);
  }

 private:
  static size_t on_header(char* bytes, size_t size, size_t count, void* self) {
    static_cast<Transfer*>(self)->take_header({bytes, size * count});
    return size * count;
  }

  static size_t on_body(char* bytes, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    try {
      return transfer->take_body({bytes, size * count}) ? size * count : 0;
    } catch (...) {
      // Not through libcurl, which is C: finish() throws it on.
      transfer->thrown_ = std::current_exception();
      return 0;
    }
  }

  void take_header(std::string_view line) {
    last_byte_ = now();
    // A status line begins a response; one before it was a proxy's or "100 Continue".
    if (line.starts_with("HTTP/")) {
      exchange_.headers.clear();
      return;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    exchange_.headers.push_back(
        {std::string(trimmed(line.substr(0, colon))), std::string(trimmed(line.substr(colon + 1)))});
  }

  bool take_body(std::string_view bytes) {
    last_byte_ = now();
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    exchange_.status = static_cast<int>(status);
    stopped_ = !sink_(exchange_, bytes);
    return !stopped_;
  }

  CURL* easy_;
  const BodySink& sink_;
  nanoseconds last_byte_;
  curl_off_t sent_ = 0;
  bool stopped_ = false;
  std::exception_ptr thrown_;
  Exchange exchange_;
  std::array<char, CURL_ERROR_SIZE> reason_{};
};

List header_list(const Headers& headers) {
  List list;
  const auto add = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    if (!list) list.reset(longer);
  };
  // Without this a large body waits up to a second for "100 Continue", which model servers do not send.
  add("Expect:");
  for (const Header& header : headers) {
    add(header.value.empty() ? header.name + ";" : header.name + ": " + header.value);
  }
  return list;
}

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' && c != '\t'; });
}

}  // namespace

std::string find_header(const Headers& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (same_name(header.name, name)) return header.value;
  }
  return "";
}

Result<UrlParts> parse_url(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> handle(curl_url(), &curl_url_cleanup);
  if (!handle) throw std::bad_alloc();
  if (curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return Error{"is no URL", ""};
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    if (curl_url_get(handle.get(), which, &text, 0) != CURLUE_OK) return std::string();
    std::string copy = text;
    curl_free(text);
    return copy;
  };
  return UrlParts{part(CURLUPART_SCHEME), part(CURLUPART_HOST), part(CURLUPART_PATH), part(CURLUPART_QUERY),
                  !part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty()};
}

bool is_loopback(const std::string& url) {
  const auto parts = parse_url(url);
  if (!parts) return false;
  const bool address = parts->host.find_first_not_of("0123456789.") == std::string::npos;
  return parts->host == "localhost" || parts->host == "[::1]" || (address && parts->host.starts_with("127."));
}

struct HttpClient::State {
  ClientSettings settings;
  Multi multi;  ///< keeps the connections

  void prepare(CURL* easy, const HttpRequest& request, const curl_slist* headers) const {
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_URL, request.url.c_str());
    set(easy, CURLOPT_POST, 1L);
    set(easy, CURLOPT_POSTFIELDS, request.body.data());
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(easy, CURLOPT_HTTPHEADER, headers);
    set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings.limits.connect.count()));
    if (!settings.proxy.empty()) {
      set(easy, CURLOPT_PROXY, settings.proxy.c_str());
    } else if (is_loopback(request.url)) {
      // The environment's proxy is another machine: it cannot reach a server on this one.
      set(easy, CURLOPT_PROXY, "");
    }
    if (!settings.ca_file.empty()) set(easy, CURLOPT_CAINFO, settings.ca_file.c_str());
  }

  bool asked_to_stop() const { return settings.stop != nullptr && *settings.stop; }

  /// Runs what was added to `multi` until it is over.
  Exchange drive(Transfer& transfer) {
    const nanoseconds began = now();
    curl_waitfd wake{};
    wake.fd = interrupt_fd();
    wake.events = CURL_WAIT_POLLIN;
    for (;;) {
      int running = 0;
      check(curl_multi_perform(multi.get(), &running));
      int waiting = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi.get(), &waiting)) {
        if (message->msg == CURLMSG_DONE) return transfer.finish(message->data.result);
      }
      stop_if_interrupted();
      if (asked_to_stop()) throw Fault(Fault::Kind::kInterrupted, "interrupted");
      if (now() - began > settings.limits.total)
        return transfer.time_out("the request took over", settings.limits.total);
      if (now() - transfer.last_byte() > settings.limits.idle) {
        return transfer.time_out("not a byte came for", settings.limits.idle);
      }
      const auto wait = std::min({kStopLatency, settings.limits.idle, settings.limits.total});
      check(curl_multi_poll(multi.get(), &wake, 1, static_cast<int>(wait.count()) + 1, nullptr));
    }
  }

  static void check(CURLMcode code) {
    if (code != CURLM_OK) throw Fault(Fault::Kind::kSystem, fmt::format("libcurl: {}", curl_multi_strerror(code)));
  }
};

HttpClient::HttpClient(ClientSettings settings) {
  initialise_once();
  state_ = std::make_unique<State>(State{std::move(settings), Multi(curl_multi_init())});
  if (!state_->multi) throw std::bad_alloc();
}

HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Exchange HttpClient::post(const HttpRequest& request, const BodySink& sink) {
  stop_if_interrupted();
  const auto parts = parse_url(request.url);
  if (!parts || (parts->scheme != "http" && parts->scheme != "https")) {
    return {.end = HttpEnd::kBadRequest, .message = "the URL is not one of http or https"};
  }
  for (const Header& header : request.headers) {
    if (has_control(header.name) || has_control(header.value)) {
      return {.end = HttpEnd::kBadRequest, .message = "a header holds a line break or another control character"};
    }
  }
  const Easy easy(curl_easy_init());
  if (!easy) throw std::bad_alloc();
  const List headers = header_list(request.headers);
  state_->prepare(easy.get(), request, headers.get());
  Transfer transfer(easy.get(), sink);
  CURLM* multi = state_->multi.get();
  State::check(curl_multi_add_handle(multi, easy.get()));
  // Whatever way this function is left, the multi handle must not keep the easy one.
  struct Remove {
    CURLM* multi;
    CURL* easy;
    ~Remove() { curl_multi_remove_handle(multi, easy); }
  } const remove{multi, easy.get()};
  Exchange exchange = state_->drive(transfer);
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  exchange.status = static_cast<int>(status);
  return exchange;
}

}  // namespace ww::net
