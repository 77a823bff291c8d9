// SPDX-License-Identifier: Apache-2.0
#include "agent/http_model.h"

#include <fmt/format.h>

#include <chrono>

#include "agent/arguments.h"
#include "agent/endpoint_error.h"
#include "agent/probe.h"
#include "agent/text_tools.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "net/sse.h"

namespace ww::agent {
namespace {

constexpr size_t kBodyLimit = 64u << 20;  ///< far over any reply
constexpr size_t kErrorLimit = 64u << 10;
constexpr int kProbeTokens = 16;
/// No tokenizer makes so few tokens of a text: the endpoint has cut it. Only looked at from kCutFrom bytes on.
constexpr size_t kBytesPerToken = 16;
constexpr size_t kCutFrom = 16u << 10;

/// Puts a response together as its bytes come: a stream of events, a JSON body, or an error in any form. What it is,
/// its first byte tells; content types are not to be trusted.
class Incoming {
 public:
  explicit Incoming(std::unique_ptr<DraftReader> reader) : reader_(std::move(reader)) {}

  bool take(const net::Exchange& so_far, std::string_view bytes) {
    if (so_far.status < 200 || so_far.status > 299) return collect(bytes, kErrorLimit);
    if (form_ == Form::kUnknown) {
      const size_t first = bytes.find_first_not_of(" \t\r\n");
      if (first == std::string_view::npos) return true;
      const char c = bytes[first];
      form_ = c == '{' || c == '[' || c == '<' ? Form::kBody : Form::kStream;
    }
    if (form_ == Form::kBody) return collect(bytes, kBodyLimit);
    if (events_ == 0 && body_.size() < kErrorLimit) body_ += bytes;
    const bool within = parser_.feed(bytes, taker());
    if (!within) too_long_ = true;
    return within && !reader_->complete();
  }

  /// After the exchange, which was a success as far as its status says.
  Draft finish() {
    if (form_ == Form::kStream) parser_.finish(taker());
    if (form_ == Form::kStream && (events_ > 0 || parser_.comments() > 0 || body_.starts_with("data:"))) {
      Draft draft = reader_->take_draft();
      if (too_long_) draft.error = WireError{Failure::kOther, "an event of the stream is over 8 MiB"};
      return draft;
    }
    if (too_long_) return Draft{.error = WireError{Failure::kOther, "the response is over 64 MiB"}};
    const auto json = parse_foreign(body_);
    if (!json) return Draft{.error = error_of_no_json(body_)};
    reader_->take_body(*json);
    return reader_->take_draft();
  }

  const std::string& body() const { return body_; }
  bool streamed() const { return form_ == Form::kStream; }

 private:
  enum class Form { kUnknown, kBody, kStream };

  std::function<void(const net::SseEvent&)> taker() {
    return [this](const net::SseEvent& event) {
      events_++;
      reader_->take_event(event);
    };
  }

  bool collect(std::string_view bytes, size_t limit) {
    body_.append(bytes.substr(0, limit - std::min(limit, body_.size())));
    too_long_ = body_.size() >= limit;
    return !too_long_;
  }

  std::unique_ptr<DraftReader> reader_;
  net::SseParser parser_;
  Form form_ = Form::kUnknown;
  std::string body_;  ///< all of it, or the beginning of a stream that has no event yet
  int64_t events_ = 0;
  bool too_long_ = false;
};

/// What one request came to.
struct Try {
  Answer answer;
  std::optional<milliseconds> wait = {};  ///< what the endpoint asks for before the next one
  bool streamed = false;
};

/// Of an exchange that did not come to a response. None: it did, or the draft must tell.
std::optional<WireError> error_of(const net::Exchange& exchange) {
  const bool begun = exchange.status >= 200 && exchange.status < 300;
  switch (exchange.end) {
    case net::HttpEnd::kDone:
    case net::HttpEnd::kStopped:
      return std::nullopt;
    case net::HttpEnd::kNoConnection:
      return WireError{Failure::kTransient, "no connection: " + exchange.message};
    case net::HttpEnd::kDistrust:
      return WireError{Failure::kOther, "the certificate is not trusted (" + exchange.message +
                                            "); a private authority's is named with --ca-file"};
    case net::HttpEnd::kBadRequest:
      return WireError{Failure::kBadRequest, exchange.message};
    case net::HttpEnd::kTimeout:
    case net::HttpEnd::kBroken:
      return WireError{begun ? Failure::kCutStream : Failure::kTransient, exchange.message};
  }
  return std::nullopt;
}

class HttpModel : public Model {
 public:
  HttpModel(std::string spec, Endpoint endpoint, Outside outside)
      : spec_(std::move(spec)),
        endpoint_(std::move(endpoint)),
        outside_(std::move(outside)),
        wire_(endpoint_.format == WireFormat::kOpenai ? make_openai_wire() : make_anthropic_wire()),
        client_(endpoint_.client),
        features_(endpoint_.features) {}

  std::string name() const override { return spec_; }

  Answer answer(const std::vector<Message>& history, const std::vector<ToolSpec>& tools) override {
    std::vector<std::string> events;
    Usage spent;
    for (int tried = 1;;) {
      Try each = ask(history, tools, endpoint_.sampling, features_);
      const bool last = tried >= endpoint_.retry.tries;
      if (each.answer.ok()) {
        add(spent, each.answer->usage);
        if (!is_void(*each.answer) || last) return finished(std::move(*each.answer), spent, std::move(events), each);
        events.emplace_back("an empty reply was asked for again");
      } else if (each.answer.failure() == Failure::kBadRequest && probe(events)) {
        continue;  // in another form: not the same request again
      } else if (!may_help_to_repeat(each.answer.failure()) || last) {
        return failed(each.answer, tried);
      }
      const auto wait = net::wait_before_retry(endpoint_.retry, tried, each.wait, random());
      if (!wait) return failed(each.answer, tried);
      tried++;
      if (!each.answer.ok()) {
        events.push_back(fmt::format("asked again: {}", clean(each.answer.error().message)));
        log::warning(fmt::format("{}: {}; asking again in {:.1f} s (try {} of {})", spec_,
                                 clean(each.answer.error().message), to_seconds(*wait), tried, endpoint_.retry.tries));
      }
      pause(*wait);
    }
  }

 private:
  static bool may_help_to_repeat(Failure failure) {
    return failure == Failure::kTransient || failure == Failure::kCutStream;
  }

  static bool is_void(const Reply& reply) {
    return reply.text.empty() && reply.calls.empty() && reply.reasoning.empty() && reply.finish != Finish::kRefusal;
  }

  static void add(Usage& sum, const Usage& usage) {
    sum.input += usage.input;
    sum.cached += usage.cached;
    sum.output += usage.output;
    sum.cost_usd += usage.cost_usd;
    sum.known = sum.known || usage.known;
  }

  Try ask(const std::vector<Message>& history, const std::vector<ToolSpec>& tools, const Sampling& sampling,
          const Features& features) {
    const bool as_text = !features.tools && !tools.empty();
    const net::HttpRequest request{endpoint_.url, endpoint_.headers,
                                   as_text ? wire_->request(tools_as_text(history, tools), {}, sampling, features)
                                           : wire_->request(history, tools, sampling, features)};
    Incoming incoming(wire_->reader());
    const net::Exchange exchange = client_.post(
        request, [&](const net::Exchange& so_far, std::string_view bytes) { return incoming.take(so_far, bytes); });
    auto error = error_of(exchange);
    const bool success = exchange.status >= 200 && exchange.status < 300;
    if (!success) {
      if (!error) error = error_of_status(exchange.status, incoming.body());
      return {Answer(error->failure, Error{error->message, spec_}),
              net::requested_wait(exchange.status, exchange.headers, unix_now_s())};
    }
    Draft draft = incoming.finish();
    if (error && !draft.ended) draft.error = error;
    if (error && draft.ended) draft.events.push_back("the connection broke after the reply: " + error->message);
    const Asked asked{.tools = tools, .max_tokens = sampling.max_tokens, .tools_as_text = as_text};
    Try result{settle(std::move(draft), asked), std::nullopt, incoming.streamed()};
    if (result.answer.ok()) complete(*result.answer, request.body.size());
    return result;
  }

  /// Adds what only this side knows.
  void complete(Reply& reply, size_t sent_bytes) const {
    Usage& usage = reply.usage;
    if (endpoint_.prices) {
      const Prices& prices = *endpoint_.prices;
      usage.cost_usd =
          (static_cast<double>(usage.input - usage.cached) * prices.input +
           static_cast<double>(usage.cached) * prices.cached + static_cast<double>(usage.output) * prices.output) /
          1e6;
    }
    const auto counted = static_cast<size_t>(std::max<int64_t>(usage.input, 0));
    if (usage.known && sent_bytes > kCutFrom && counted * kBytesPerToken < sent_bytes) {
      reply.events.push_back(
          fmt::format("the endpoint counts {} tokens for {} bytes: it seems to cut the conversation; give its server a "
                      "longer context",
                      counted, sent_bytes));
    }
  }

  /// Returns true if the endpoint takes requests in another form than so far.
  bool probe(std::vector<std::string>& events) {
    if (probed_) return false;
    probed_ = true;
    Sampling small = endpoint_.sampling;
    small.max_tokens = kProbeTokens;
    const auto found = probe_features(
        [&](const std::vector<Message>& history, const std::vector<ToolSpec>& tools, const Features& features) {
          const Try each = ask(history, tools, small, features);
          if (each.answer.ok()) return Taken::kYes;
          switch (each.answer.failure()) {
            case Failure::kBadRequest:
              return Taken::kNo;
            case Failure::kContextOverflow:  // cut by the small limit before its first token: taken all the same
            case Failure::kRefused:
              return Taken::kYes;
            default:
              return Taken::kUnknown;
          }
        },
        features_);
    if (!found || *found == features_) return false;
    features_ = *found;
    events.push_back("the endpoint refused the usual form and was probed: " + describe(features_));
    log::info(fmt::format("{}: {}", spec_, events.back()));
    return true;
  }

  Answer finished(Reply reply, const Usage& spent, std::vector<std::string> events, const Try& from) {
    if (!described_) {
      described_ = true;
      const bool silent = features_.stream && !from.streamed;
      events.push_back(fmt::format("endpoint: {}, usage {}",
                                   silent          ? "asked to stream, does not"
                                   : from.streamed ? "streams"
                                                   : "in one piece",
                                   reply.usage.known ? "reported" : "not reported"));
    }
    reply.usage = spent;
    reply.events.insert(reply.events.begin(), events.begin(), events.end());
    // An endpoint may say the key back, in an error or as the text.
    for (std::string* text : {&reply.text, &reply.reasoning, &reply.echo}) *text = clean(std::move(*text));
    for (std::string& event : reply.events) event = clean(std::move(event));
    for (ToolCall& call : reply.calls) {
      for (std::string* text : {&call.id, &call.tool, &call.arguments}) *text = clean(std::move(*text));
    }
    return reply;
  }

  Answer failed(const Answer& answer, int tried) const {
    if (answer.ok()) return Answer(Failure::kTransient, Error{"nothing but empty replies", spec_});
    std::string message = clean(answer.error().message);
    if (tried > 1) message += fmt::format(" ({} tries)", tried);
    return Answer(answer.failure(), Error{std::move(message), spec_});
  }

  std::string clean(std::string text) const { return without_secrets(std::move(text), endpoint_.secrets); }

  void pause(milliseconds time) const {
    if (outside_.pause) return outside_.pause(time);
    net::pause(time, endpoint_.client.stop);
  }
  double random() const {
    return outside_.random ? outside_.random() : static_cast<double>(random_word() >> 11) * 0x1p-53;
  }
  double unix_now_s() const {
    if (outside_.unix_now_s) return outside_.unix_now_s();
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }

  std::string spec_;
  Endpoint endpoint_;
  Outside outside_;
  std::unique_ptr<Wire> wire_;
  net::HttpClient client_;
  Features features_;
  bool probed_ = false;
  bool described_ = false;
};

}  // namespace

std::unique_ptr<Model> make_http_model(std::string spec, Endpoint endpoint, Outside outside) {
  return std::make_unique<HttpModel>(std::move(spec), std::move(endpoint), std::move(outside));
}

}  // namespace ww::agent
