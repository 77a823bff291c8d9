// SPDX-License-Identifier: Apache-2.0
//
// Models over HTTP, end to end against a scripted server on this machine.
#include "agent/http_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "net/test_server.h"

namespace ww::agent {
namespace {

using net::test_response;
using net::test_stream;
using net::TestRequest;
using net::TestResponse;
using net::TestServer;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kKey = "sk-very-secret-0123456789";
const std::string kHello = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\n";
const std::string kUsage =
    "data: "
    "{\"choices\":[],\"usage\":{\"prompt_tokens\":1000000,\"completion_tokens\":2000,\"prompt_tokens_details\":{"
    "\"cached_tokens\":400000}}}\n\n";
const std::string kDone = "data: [DONE]\n\n";
const std::string kHelloBody = R"({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]})";
const std::string kRefusedForm = R"({"error":{"message":"unknown field","type":"invalid_request_error"}})";

const std::vector<Message>& history() {
  static const std::vector<Message> list = {{.role = Role::kUser, .text = "go"}};
  return list;
}

const std::vector<ToolSpec>& tools() {
  static const std::vector<ToolSpec> list = {{"build", "Builds.", R"({"type":"object","properties":{}})"}};
  return list;
}

/// A model on a server with a script, and the waits between its tries.
struct Bench {
  explicit Bench(std::vector<TestResponse> responses, EndpointOptions options = {},
                 const std::string& spec = "openai:m")
      : server(std::move(responses)), model(open(spec, std::move(options))) {}
  explicit Bench(TestServer::Script script, EndpointOptions options = {}, const std::string& spec = "openai:m")
      : server(std::move(script)), model(open(spec, std::move(options))) {}

  std::unique_ptr<Model> open(const std::string& spec, EndpointOptions options) {
    if (options.base_url.empty()) options.base_url = server.url();
    options.key_env = "KEY";
    auto endpoint = make_endpoint(spec, options, [](const std::string&) { return kKey; });
    EXPECT_TRUE(endpoint) << endpoint.error().text();
    return make_http_model(spec, std::move(*endpoint),
                           {.pause = [this](milliseconds time) { waits.push_back(time.count()); },
                            .random = [] { return 0.0; },
                            .unix_now_s = [] { return 0.0; }});
  }

  Answer ask() { return model->answer(history(), tools()); }
  Json sent(size_t number) const { return parse_own_json(server.requests().at(number).body); }

  std::vector<int64_t> waits;
  TestServer server;
  std::unique_ptr<Model> model;
};

TEST(HttpModel, StreamsAReplyWithItsUsageAndCost) {
  Bench bench({test_stream({kHello, kUsage, kDone})}, {.temperature = 0.5, .prices = Prices{3, 0.5, 10}});
  const Answer answer = bench.ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "hello");
  EXPECT_EQ(answer->usage.input, 1'000'000);
  EXPECT_DOUBLE_EQ(answer->usage.cost_usd, 0.6 * 3 + 0.4 * 0.5 + 0.002 * 10);
  EXPECT_THAT(answer->events, ElementsAre("endpoint: streams, usage reported"));
  const TestRequest request = bench.server.requests().at(0);
  EXPECT_THAT(request.head, HasSubstr("POST /v1/chat/completions HTTP/1.1\r\n"));
  EXPECT_THAT(request.head, HasSubstr("Authorization: Bearer " + kKey + "\r\n"));
  EXPECT_EQ(bench.sent(0)["tools"].size(), 1u);
  EXPECT_TRUE(bench.ask()->events.empty()) << "what the endpoint does is noted once";
}

TEST(HttpModel, SpeaksAnthropicsFormat) {
  const std::string body =
      R"({"type":"message","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}})";
  Bench bench({test_response(200, body)}, {.stream = false}, "anthropic:m");
  const Answer answer = bench.ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "hello");
  const std::string head = bench.server.requests().at(0).head;
  EXPECT_THAT(head, HasSubstr("POST /v1/messages HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("x-api-key: " + kKey + "\r\n"));
  EXPECT_THAT(head, HasSubstr("anthropic-version: 2023-06-01\r\n"));
  EXPECT_EQ(bench.sent(0)["stream"], false);
}

TEST(HttpModel, AStreamInAnyPiecesWithKeepAliveCommentsIsOneReply) {
  const std::string stream = ": keep-alive\n\n" + kHello + ":\r\n\r\n" + kUsage + kDone;
  std::vector<std::string> bytes;
  for (const char c : stream) bytes.emplace_back(1, c);
  Bench bench({test_stream(bytes)});
  EXPECT_EQ(bench.ask()->text, "hello");
  EXPECT_TRUE(bench.waits.empty());
}

TEST(HttpModel, AnEndpointThatDoesNotStreamThoughAskedIsRead) {
  Bench bench({test_response(200, kHelloBody, "Content-Type: text/plain\r\n")});
  const Answer answer = bench.ask();
  EXPECT_EQ(answer->text, "hello");
  EXPECT_THAT(answer->events, ElementsAre("endpoint: asked to stream, does not, usage not reported"));
}

TEST(HttpModel, AsksAgainAsTheServerWishes) {
  Bench bench(
      {test_response(429, R"({"error":{"message":"slow down","code":"rate_limit_exceeded"}})", "Retry-After: 7\r\n"),
       test_response(500, "oops"), test_response(502, "<html><title>Bad Gateway</title></html>"),
       test_stream({kHello, kDone})});
  const Answer answer = bench.ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "hello");
  EXPECT_THAT(bench.waits, ElementsAre(7000, 1000, 2000));
  EXPECT_THAT(
      answer->events,
      ElementsAre("asked again: HTTP 429: slow down (rate_limit_exceeded)", "asked again: HTTP 500: oops",
                  "asked again: HTTP 502: an HTML page, \"Bad Gateway\"", "endpoint: streams, usage not reported"));
}

TEST(HttpModel, AStreamThatDiesIsAskedForAgain) {
  const std::string half = "data: {\"choices\":[{\"delta\":{\"content\":\"hal\"}}]}\n\n";
  Bench bench({test_stream({half}), test_stream({half.substr(0, 20)}), test_stream({kHello, kDone})});
  const Answer answer = bench.ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "hello") << "nothing of the dead stream is left in it";
  EXPECT_EQ(bench.server.requests().size(), 3u);
}

TEST(HttpModel, ASilentStreamEndsAtTheIdleLimit) {
  TestResponse silent = test_stream({"data: {\"choices\":[{\"delta\":{\"content\":\"hal\"}}]}\n\n"});
  silent.silent = true;
  Bench bench({silent}, {.limits = {.idle = milliseconds(20)}, .retry = {.tries = 2}});
  const Answer answer = bench.ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.failure(), Failure::kCutStream);
  EXPECT_THAT(answer.error().text(), HasSubstr("openai:m: not a byte came for 0.02 s (2 tries)"));
}

TEST(HttpModel, AConnectionThatBreaksAfterTheReplyChangesNothing) {
  Bench bench({{.pieces = {"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", kHello}}});
  const Answer answer = bench.ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "hello");
  EXPECT_THAT(answer->events, Contains(HasSubstr("the connection broke after the reply")));
}

TEST(HttpModel, GivesUpWithAKind) {
  const struct {
    const char* what;
    TestResponse response;
    Failure failure;
    size_t requests;
  } cases[] = {
      {"overload", test_response(503, ""), Failure::kTransient, 3},
      {"a wrong key", test_response(401, R"({"error":{"message":"no such key"}})"), Failure::kAuthentication, 1},
      {"a long context", test_response(400, R"({"error":{"message":"x","code":"context_length_exceeded"}})"),
       Failure::kContextOverflow, 1},
      {"a long context, late",
       test_stream({"data: {\"error\":{\"message\":\"the prompt is too long: maximum context length\"}}\n\n"}),
       Failure::kContextOverflow, 1},
      {"a refused prompt", test_response(400, R"({"error":{"message":"x","code":"content_filter"}})"),
       Failure::kRefused, 1},
      {"dead streams", test_stream({": hm\n\n"}), Failure::kCutStream, 3},
      {"an error with status 200", test_response(200, R"({"error":{"message":"busy","code":503}})"),
       Failure::kTransient, 3},
      {"garbage", test_response(200, "upstream gone"), Failure::kCutStream, 3},
      {"a redirect", test_response(308, "", "Location: http://127.0.0.1:1/\r\n"), Failure::kOther, 1},
      {"no HTTP", {.pieces = {"SSH-2.0-x\r\n"}}, Failure::kTransient, 3},
  };
  for (const auto& each : cases) {
    Bench bench({each.response}, {.retry = {.tries = 3}});
    const Answer answer = bench.ask();
    ASSERT_FALSE(answer) << each.what;
    EXPECT_EQ(answer.failure(), each.failure) << each.what << ": " << answer.error().text();
    EXPECT_EQ(bench.server.requests().size(), each.requests) << each.what;
  }
}

TEST(HttpModel, ASignInPageIsABadRequestThatNamesIt) {
  Bench bench({test_response(200, "<html><title>Sign in</title></html>")});
  const Answer answer = bench.ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.failure(), Failure::kBadRequest);
  EXPECT_THAT(answer.error().text(), HasSubstr("an HTML page, \"Sign in\"; check the base URL"));
}

TEST(HttpModel, DoesNotWaitForAServerThatAsksForHours) {
  Bench bench({test_response(429, "", "Retry-After: 7200\r\n")});
  EXPECT_EQ(bench.ask().failure(), Failure::kTransient);
  EXPECT_TRUE(bench.waits.empty());
}

TEST(HttpModel, AnEmptyReplyIsAskedForAgainAndInTheEndGiven) {
  const TestResponse empty = test_response(
      200,
      R"({"choices":[{"message":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":1}})");
  Bench second({empty, test_stream({kHello, kDone})});
  const Answer answer = second.ask();
  EXPECT_EQ(answer->text, "hello");
  EXPECT_EQ(answer->usage.input, 10) << "the empty one was paid for as well";
  EXPECT_THAT(answer->events, Contains("an empty reply was asked for again"));
  Bench always({empty}, {.retry = {.tries = 2}});
  EXPECT_THAT(always.ask()->events, Contains("the reply is empty"));
}

/// Refuses what `bad` finds in a request, and says hello otherwise.
TestServer::Script picky(std::function<bool(const Json&)> bad) {
  return [bad = std::move(bad)](size_t, const TestRequest& request) {
    const Json json = parse_own_json(request.body);
    if (bad(json)) return test_response(400, kRefusedForm);
    return json["stream"].get<bool>() ? test_stream({kHello, kDone}) : test_response(200, kHelloBody);
  };
}

TEST(HttpModel, FindsOutWhatAnEndpointTakesAndRemembersIt) {
  Bench bench(picky([](const Json& json) { return json.contains("stream_options") || json.contains("max_tokens"); }),
              {.max_tokens = 500});
  const Answer answer = bench.ask();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_THAT(answer->events.at(0),
              HasSubstr("was probed: streams, no usage in streams, tools, limit as max_completion_tokens"));
  const size_t requests = bench.server.requests().size();
  EXPECT_LE(requests, 12u);
  EXPECT_EQ(bench.sent(requests - 1)["max_completion_tokens"], 500);
  ASSERT_TRUE(bench.ask());
  EXPECT_EQ(bench.server.requests().size(), requests + 1) << "no probing twice";
  EXPECT_TRUE(bench.waits.empty());
}

TEST(HttpModel, AnEndpointWithoutToolsGetsThemAsText) {
  const std::string call = R"(<tool_call>{"name":"build","arguments":{}}</tool_call>)";
  Bench bench([&](size_t, const TestRequest& request) {
    const Json json = parse_own_json(request.body);
    if (json.contains("tools")) return test_response(400, R"({"error":"m does not support tools"})");
    const bool asks = json["messages"][0]["content"].get<std::string>().find("<tool_call>") != std::string::npos;
    return test_response(
        200,
        Json{{"choices", Json::array({{{"message", {{"content", asks ? call : "ok"}}}, {"finish_reason", "stop"}}})}}
            .dump());
  });
  const Answer answer = bench.ask();
  ASSERT_TRUE(answer) << answer.error().text();
  ASSERT_EQ(answer->calls.size(), 1u);
  EXPECT_EQ(answer->calls[0].tool, "build");
  EXPECT_THAT(answer->events.at(0), HasSubstr("no tools"));
}

TEST(HttpModel, AWrongRequestIsStillWrongAfterProbing) {
  Bench bench({test_response(400, kRefusedForm)});
  const Answer answer = bench.ask();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.failure(), Failure::kBadRequest);
  EXPECT_THAT(answer.error().text(), HasSubstr("unknown field"));
  const size_t requests = bench.server.requests().size();
  EXPECT_LE(requests, 3u);
  EXPECT_FALSE(bench.ask());
  EXPECT_EQ(bench.server.requests().size(), requests + 1);
}

TEST(HttpModel, NoticesAnEndpointThatCutsTheConversation) {
  const std::string usage =
      R"({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2048,"completion_tokens":1}})";
  Bench bench({test_response(200, usage)});
  const Answer answer = bench.model->answer({{.role = Role::kUser, .text = std::string(200'000, 'a')}}, {});
  EXPECT_THAT(answer->events, Contains(HasSubstr("2048 tokens for 200")));
}

TEST(HttpModel, TheKeyIsInNoErrorAndNoReply) {
  const std::string say = "Bearer " + kKey;
  Bench wrong({test_response(401, Json{{"error", {{"message", "no such key: " + say}}}}.dump())});
  EXPECT_THAT(wrong.ask().error().text(), AllOf(HasSubstr("[key]"), Not(HasSubstr(kKey))));
  Bench page({test_response(500, "<title>" + say + "</title>")}, {.retry = {.tries = 2}});
  EXPECT_THAT(page.ask().error().text(), AllOf(HasSubstr("[key]"), Not(HasSubstr(kKey))));
  const Json message = {
      {"content", say},
      {"reasoning_content", say},
      {"tool_calls",
       Json::array({{{"id", say}, {"function", {{"name", "build"}, {"arguments", Json{{"a", say}}.dump()}}}}})}};
  Bench told(
      {test_response(500, say),
       test_response(200, Json{{"choices", Json::array({{{"message", message}, {"finish_reason", say}}})}}.dump())});
  const Answer answer = told.ask();
  ASSERT_TRUE(answer);
  std::string all =
      answer->text + answer->reasoning + answer->echo + answer->calls.at(0).id + answer->calls.at(0).arguments;
  for (const std::string& event : answer->events) all += event;
  EXPECT_THAT(all, AllOf(HasSubstr("[key]"), Not(HasSubstr(kKey))));
}

TEST(HttpModel, NobodyListeningIsToldAfterTheTries) {
  Bench bench({test_response(200, "")}, {.base_url = "http://127.0.0.1:1", .retry = {.tries = 2}});
  const Answer answer = bench.ask();
  EXPECT_EQ(answer.failure(), Failure::kTransient);
  EXPECT_THAT(answer.error().text(), HasSubstr("no connection"));
  EXPECT_THAT(bench.waits, ElementsAre(500));
}

}  // namespace
}  // namespace ww::agent
