// SPDX-License-Identifier: Apache-2.0
#include "agent/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "agent/endpoint_error.h"
#include "agent/open_model.h"
#include "agent/probe.h"
#include "agent/text_tools.h"
#include "base/files.h"
#include "base/json.h"

namespace ww::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kKey = "sk-test-0123456789";

Variables variables() {
  return [](const std::string& name) -> std::optional<std::string> {
    const std::map<std::string, std::string> set = {
        {"OPENAI_API_KEY", kKey + "\n"}, {"OTHER_KEY", "other-key-987"}, {"EMPTY_KEY", " "}, {"TWO", "a b"}};
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  };
}

Endpoint made(const std::string& spec, const EndpointOptions& options) {
  auto endpoint = make_endpoint(spec, options, variables());
  EXPECT_TRUE(endpoint) << endpoint.error().text();
  return *endpoint;
}

std::string refused(const std::string& spec, const EndpointOptions& options) {
  const auto endpoint = make_endpoint(spec, options, variables());
  return endpoint ? "" : endpoint.error().text();
}

TEST(Endpoint, FindsTheUrlFromWhatPeopleWrite) {
  const struct {
    const char* spec;
    const char* base;
    const char* url;
  } cases[] = {
      {"openai:m", "", "https://api.openai.com/v1/chat/completions"},
      {"openai:m", "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"},
      {"openai:m", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/chat/completions"},
      {"openai:m", "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"},
      {"openai:m", "https://models.example/api/v3", "https://models.example/api/v3/chat/completions"},
      {"openai:m", "https://models.example/v1/chat/completions", "https://models.example/v1/chat/completions"},
      {"openai:m", "https://models.example/d/x?api-version=7",
       "https://models.example/d/x/chat/completions?api-version=7"},
      {"anthropic:m", "http://[::1]:1", "http://[::1]:1/v1/messages"},
      {"anthropic:m", "https://models.example/anthropic", "https://models.example/anthropic/v1/messages"},
      {"anthropic:m", "https://models.example/anthropic/v1", "https://models.example/anthropic/v1/messages"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(made(each.spec, {.base_url = each.base, .key_env = "OTHER_KEY"}).url, each.url) << each.base;
  }
}

TEST(Endpoint, TakesItsKeyFromTheEnvironmentOrAFileAndOnlyForItsService) {
  const auto key = [](const EndpointOptions& options) {
    return net::find_header(made("openai:m", options).headers, "authorization");
  };
  EXPECT_EQ(key({}), "Bearer " + kKey);
  EXPECT_EQ(key({.base_url = "https://api.openai.com"}), "Bearer " + kKey);
  EXPECT_EQ(key({.base_url = "https://api.openai.com.example/v1"}), "") << "the variable is another service's";
  EXPECT_EQ(key({.base_url = "http://127.0.0.1:1"}), "");
  EXPECT_EQ(key({.base_url = "http://127.0.0.1:1", .key_env = "OTHER_KEY"}), "Bearer other-key-987");
  const TemporaryFolder folder("ww-endpoint");
  const auto file = folder.path() / "key";
  write_file(file, "  from-a-file\n");
  EXPECT_EQ(key({.key_file = file}), "Bearer from-a-file");
  EXPECT_EQ(net::find_header(made("anthropic:m", {.key_file = file}).headers, "x-api-key"), "from-a-file");
  EXPECT_THAT(refused("anthropic:m", {}), HasSubstr("ANTHROPIC_API_KEY: is not set"));
  EXPECT_THAT(refused("openai:m", {.key_env = "EMPTY_KEY"}), HasSubstr("EMPTY_KEY: holds no key"));
  EXPECT_THAT(refused("openai:m", {.key_env = "TWO"}), HasSubstr("TWO: holds more than a key"));
  EXPECT_THAT(refused("openai:m", {.key_file = folder.path() / "none"}), HasSubstr("none"));
}

TEST(Endpoint, HeadersMayNameVariablesAndMustForKeys) {
  const Endpoint endpoint = made("openai:m", {.base_url = "http://127.0.0.1:1",
                                              .headers = {"X-Team: a", "api-key: ${OTHER_KEY}", "user-agent: mine"}});
  EXPECT_EQ(net::find_header(endpoint.headers, "X-Team"), "a");
  EXPECT_EQ(net::find_header(endpoint.headers, "API-Key"), "other-key-987");
  EXPECT_EQ(net::find_header(endpoint.headers, "User-Agent"), "mine");
  EXPECT_EQ(without_secrets("so other-key-987 it is", endpoint.secrets), "so [key] it is");
  EXPECT_THAT(refused("openai:m", {.headers = {"Authorization: Bearer " + kKey}}),
              AllOf(HasSubstr("belongs in the environment"), Not(HasSubstr(kKey))));
  EXPECT_THAT(refused("openai:m", {.headers = {"X-A: ${NONE}"}}), HasSubstr("NONE: is not set"));
  EXPECT_THAT(refused("openai:m", {.headers = {"nonsense"}}), HasSubstr("--header"));
}

TEST(Endpoint, RefusesWhatCannotWorkByTheOptionsName) {
  EXPECT_THAT(refused("openai:", {}), HasSubstr("openai:NAME"));
  EXPECT_THAT(refused("openai:m", {.base_url = "localhost:8080"}), HasSubstr("--base-url"));
  EXPECT_THAT(refused("openai:m", {.base_url = "ftp://models.example"}), HasSubstr("--base-url"));
  EXPECT_THAT(refused("openai:m", {.base_url = "https://u:secret-word@models.example"}),
              AllOf(HasSubstr("--base-url"), Not(HasSubstr("secret-word"))));
  EXPECT_THAT(refused("openai:m", {.proxy = "http://u:secret-word@proxy.example:1"}),
              AllOf(HasSubstr("--proxy"), Not(HasSubstr("secret-word"))));
  EXPECT_THAT(refused("openai:m", {.ca_file = "/no/such/file"}), HasSubstr("/no/such/file"));
  EXPECT_THAT(refused("openai:m", {.max_tokens = 0}), HasSubstr("--max-tokens"));
  EXPECT_THAT(refused("openai:m", {.extra = "[]"}), HasSubstr("--extra-body"));
}

TEST(Endpoint, ReadsPrices) {
  EXPECT_EQ(parse_prices("3,15")->cached, 3);
  EXPECT_EQ(parse_prices("3,0.3,15")->cached, 0.3);
  EXPECT_EQ(parse_prices("0,0")->output, 0);
  for (const char* bad : {"", "3", "3,", "-1,2", "1,2,3,4", "nan,1", "3;4", "3,4x"})
    EXPECT_FALSE(parse_prices(bad)) << bad;
}

TEST(OpenModel, KnowsModelsOverHttp) {
  EXPECT_TRUE(is_model_name("openai:some/model:tag"));
  EXPECT_TRUE(is_model_name("anthropic:m"));
  EXPECT_FALSE(is_model_name("openai:"));
  EXPECT_FALSE(is_model_name("gemini:m"));
}

// ---- errors

constexpr const char* kFailures[] = {"other",       "transient", "overflow", "authentication",
                                     "bad request", "refused",   "cut"};

TEST(EndpointError, HasAKindAndOneClearLine) {
  const struct {
    int status;
    const char* body;
    const char* failure;
    const char* message;
  } cases[] = {
      {401, R"({"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}})",
       "authentication", "HTTP 401: Incorrect API key (invalid_api_key)"},
      {403, "<html><head><title>Access  denied</title></head>", "authentication",
       "HTTP 403: an HTML page, \"Access  denied\""},
      {429, R"({"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}})", "transient",
       "HTTP 429: slow down (rate_limit_exceeded)"},
      {429, R"({"error":{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}})",
       "authentication", "HTTP 429: no credit (insufficient_quota)"},
      {400,
       R"({"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}})",
       "overflow", "HTTP 400: This model's maximum context length is 8192 tokens. (context_length_exceeded)"},
      {400,
       R"({"object":"error","message":"This model's maximum context length is 6048 tokens. However, you requested 6616 tokens","type":"BadRequestError","param":null,"code":400})",
       "overflow", nullptr},
      {400,
       R"({"object":"error","message":"max_tokens must be at least 1, got -17.","type":"BadRequestError","code":400})",
       "overflow", nullptr},
      {400,
       R"({"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}})",
       "overflow", nullptr},
      {400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000"}})",
       "overflow", nullptr},
      {400,
       R"([{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}])",
       "overflow", nullptr},
      {413, R"({"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}})",
       "overflow", nullptr},
      {500,
       R"({"error":{"code":500,"message":"the request exceeds the available context size","type":"server_error"}})",
       "overflow", nullptr},
      {400, R"({"error":{"message":"filtered","code":"content_filter"}})", "refused", nullptr},
      {400, R"({"error":"registry.example/m does not support tools"})", "bad request",
       "HTTP 400: registry.example/m does not support tools"},
      {404,
       R"({"error":{"message":"The model `m` does not exist","type":"invalid_request_error","code":"model_not_found"}})",
       "bad request",
       "HTTP 404: The model `m` does not exist (model_not_found); check the model's name and the base URL"},
      {404, "404 page not found", "bad request",
       "HTTP 404: 404 page not found; check the model's name and the base URL"},
      {422, R"({"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted"}]})", "bad request",
       nullptr},
      {307, "", "other", "HTTP 307; the endpoint has moved, give its new base URL"},
      {502, "<!DOCTYPE html>\n<TITLE>502 Bad\nGateway</TITLE>", "transient",
       "HTTP 502: an HTML page, \"502 Bad Gateway\""},
      {503, "", "transient", "HTTP 503"},
      {529, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})", "transient",
       "HTTP 529: Overloaded (overloaded_error)"},
  };
  for (const auto& each : cases) {
    const WireError error = error_of_status(each.status, each.body);
    EXPECT_STREQ(kFailures[static_cast<int>(error.failure)], each.failure) << each.body;
    if (each.message != nullptr) {
      EXPECT_EQ(error.message, each.message);
    }
  }
}

TEST(EndpointError, MessagesAreBoundedAndPrintable) {
  const WireError error =
      error_of_status(500, "\x1b[31m" + std::string(399, 'a') + "\xC3\xA4" + std::string(10'000, 'a'));
  EXPECT_LT(error.message.size(), 450u);
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);
  EXPECT_TRUE(is_utf8(error.message));
}

TEST(EndpointError, ABodyThatIsNoJsonSaysWhatItIs) {
  EXPECT_EQ(error_of_no_json("<html><title>Sign in</title>").failure, Failure::kBadRequest);
  EXPECT_THAT(error_of_no_json("<html><title>Sign in</title>").message, HasSubstr("\"Sign in\"; check the base URL"));
  EXPECT_EQ(error_of_no_json("").failure, Failure::kCutStream);
}

// ---- what an endpoint takes

/// An endpoint that knows only some features, and the requests it was sent.
struct PickyEndpoint {
  Features knows;
  int requests = 0;

  Taken operator()(const std::vector<Message>& history, const std::vector<ToolSpec>& tools, const Features& asked) {
    requests++;
    const bool calls = history.size() > 1;
    const bool back = calls && asked.reasoning_back && !history[1].echo.empty();
    const bool bad = (asked.stream && !knows.stream) || (asked.stream && asked.stream_usage && !knows.stream_usage) ||
                     (!tools.empty() && !knows.tools) || asked.completion_limit != knows.completion_limit ||
                     (back && !knows.reasoning_back) || (calls && asked.empty != knows.empty);
    return bad ? Taken::kNo : Taken::kYes;
  }
};

TEST(Probe, FindsExactlyWhatAnEndpointTakes) {
  for (int bits = 0; bits < 64; bits++) {
    Features knows{.stream = (bits & 1) != 0,
                   .tools = (bits & 4) != 0,
                   .completion_limit = (bits & 8) != 0,
                   .empty = static_cast<EmptyContent>(bits / 16 % 3)};
    knows.stream_usage = knows.stream && (bits & 2) != 0;
    knows.reasoning_back = knows.tools && bits >= 48;
    if (!knows.tools) knows.empty = EmptyContent::kNull;
    PickyEndpoint endpoint{knows};
    const auto found = probe_features(std::ref(endpoint), {});
    ASSERT_TRUE(found) << bits;
    EXPECT_EQ(*found, knows) << bits << ": " << describe(*found);
    EXPECT_LE(endpoint.requests, 10);
  }
}

TEST(Probe, SaysNothingOfAnEndpointThatRefusesAllOrIsAway) {
  EXPECT_FALSE(probe_features([](auto&&...) { return Taken::kNo; }, {}));
  int left = 3;
  EXPECT_FALSE(probe_features([&](auto&&...) { return left-- > 0 ? Taken::kYes : Taken::kUnknown; }, {}));
}

TEST(TextTools, MakeAConversationWithoutCalls) {
  const ToolCall call{"c", "build", "{}"};
  const std::vector<ToolSpec> tools = {{"build", "Builds.", R"({"type":"object"})"}};
  const auto plain = tools_as_text({{.role = Role::kSystem, .text = "rules"},
                                    {.role = Role::kUser, .text = "go"},
                                    {.role = Role::kModel, .text = "now", .calls = {call, call}},
                                    {.role = Role::kTool, .text = "ok", .call = call, .data = "{}"},
                                    {.role = Role::kTool, .text = "ok", .call = call, .data = "{}"}},
                                   tools);
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_THAT(plain[0].text,
              AllOf(HasSubstr(R"({"name":"build","description":"Builds.","arguments":{"type":"object"}})"),
                    HasSubstr("rules")));
  EXPECT_EQ(plain[2].role, Role::kModel);
  EXPECT_EQ(plain[2].text,
            "now\n<tool_call>\n{\"name\": \"build\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": "
            "\"build\", \"arguments\": {}}\n</tool_call>");
  EXPECT_TRUE(plain[2].calls.empty());
  EXPECT_EQ(plain[3].role, Role::kUser);
  EXPECT_EQ(plain[3].text, "<tool_response>\nok\n</tool_response>\n\n<tool_response>\nok\n</tool_response>");
}

}  // namespace
}  // namespace ww::agent
