// SPDX-License-Identifier: Apache-2.0
//
// Both wire formats, from the JSON of an endpoint to a settled reply and from a history to a request.
#include "agent/wire.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "agent/arguments.h"
#include "base/json.h"

namespace ww::agent {
namespace {

using testing::HasSubstr;

const std::vector<ToolSpec>& tools() {
  static const std::vector<ToolSpec> list = {
      {"write", "Writes.", R"({"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}}})"},
      {"build", "Builds.", R"({"type":"object","properties":{}})"}};
  return list;
}

constexpr const char* kFinishes[] = {"stop", "calls", "length", "refusal"};
constexpr const char* kFailures[] = {"other",       "transient", "overflow", "authentication",
                                     "bad request", "refused",   "cut"};

/// One line: TEXT [thought: REASONING] {ID TOOL ARGUMENTS}... FINISH (EVENT)..., or the failure.
std::string shown(const Answer& answer) {
  if (!answer) return std::string("failed: ") + kFailures[static_cast<int>(answer.failure())];
  std::string line = answer->text;
  if (!answer->reasoning.empty()) line += " [thought: " + answer->reasoning + "]";
  for (const ToolCall& call : answer->calls) line += fmt::format(" {{{} {} {}}}", call.id, call.tool, call.arguments);
  line += std::string(" ") + kFinishes[static_cast<int>(answer->finish)];
  for (const std::string& event : answer->events) line += " (" + event + ")";
  return line;
}

std::string read_stream(const Wire& wire, const std::vector<std::string>& events, const Asked& asked) {
  const auto reader = wire.reader();
  for (const std::string& data : events) reader->take_event({"", data});
  return shown(settle(reader->take_draft(), asked));
}

std::string read_body(const Wire& wire, const std::string& body, const Asked& asked) {
  const auto reader = wire.reader();
  reader->take_body(parse_own_json(body));
  return shown(settle(reader->take_draft(), asked));
}

std::string chunk(const std::string& delta, const std::string& finish = "") {
  return fmt::format(R"({{"choices":[{{"index":0,"delta":{},"finish_reason":{}}}]}})", delta,
                     finish.empty() ? "null" : "\"" + finish + "\"");
}

/// A delta with one piece of a call; empty fields are left out.
std::string piece(int index, const std::string& id, const std::string& name, const std::string& arguments) {
  Json call = Json::object();
  if (index >= 0) call["index"] = index;
  if (!id.empty()) call["id"] = id;
  call["function"] = Json::object();
  if (!name.empty()) call["function"]["name"] = name;
  if (!arguments.empty()) call["function"]["arguments"] = arguments;
  return chunk(Json{{"tool_calls", Json::array({call})}}.dump());
}

const std::string kDone = "[DONE]";
const std::string kCalls = chunk("{}", "tool_calls");
const std::string kStop = chunk("{}", "stop");

struct StreamCase {
  const char* what;
  std::vector<std::string> events;
  std::string shown;
};

void check_streams(const std::vector<StreamCase>& cases, const Asked& asked = {tools(), {}, false}) {
  for (const StreamCase& each : cases)
    EXPECT_EQ(read_stream(*make_openai_wire(), each.events, asked), each.shown) << each.what;
}

TEST(OpenaiStream, ReadsTextReasoningAndUsage) {
  check_streams({
      {"text",
       {chunk(R"({"role":"assistant","content":""})"), chunk(R"({"content":"a"})"), chunk(R"({"content":"b"})"), kStop,
        kDone},
       "ab stop"},
      {"null content", {chunk(R"({"content":null})"), chunk(R"({"content":"b"})"), kStop, kDone}, "b stop"},
      {"content as parts",
       {chunk(
            R"({"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"b"}]})"),
        kStop},
       "b [thought: hm] stop"},
      {"reasoning_content",
       {chunk(R"({"reasoning_content":"so"})"), chunk(R"({"content":"b"})"), kStop, kDone},
       "b [thought: so] stop"},
      {"reasoning",
       {chunk(R"({"reasoning":"so"})"), chunk(R"({"content":"b"})"), kStop, kDone},
       "b [thought: so] stop"},
      {"both names at once",
       {chunk(R"({"reasoning":"so","reasoning_content":"so"})"), chunk(R"({"content":"b"})"), kStop},
       "b [thought: so] stop"},
      {"thinking in the text",
       {chunk(R"({"content":"<think>so</think>\nb"})"), kStop},
       "b [thought: so] stop (thinking stood in the text and was moved)"},
      {"thinking without its first tag",
       {chunk(R"({"content":"so\n</think>b"})"), kStop},
       "b [thought: so] stop (thinking stood in the text and was moved)"},
      {"nothing but thinking",
       {chunk(R"({"reasoning":"so"})"), kStop},
       " [thought: so] stop (the reply is nothing but thinking)"},
      {"no [DONE]", {chunk(R"({"content":"b"})"), kStop}, "b stop"},
      {"no reason", {chunk(R"({"content":"b"})"), kDone}, "b stop (the reply ended without saying why)"},
      {"an unknown reason",
       {chunk(R"({"content":"b"})", "eos"), kDone},
       "b stop (the reply ended for an unknown reason: eos)"},
      {"no choices, null choices, null delta",
       {R"({"choices":[]})", R"({"choices":null})", chunk("null"), chunk(R"({"content":"b"})"), kStop},
       "b stop"},
      {"empty", {kStop, kDone}, " stop (the reply is empty)"},
      {"cut by the limit",
       {chunk(R"({"content":"b"})", "length"), kDone},
       "b length (the reply was cut by its length limit)"},
      {"a message instead of a delta",
       {R"({"choices":[{"message":{"content":"b"},"finish_reason":"stop"}]})"},
       "b stop"},
  });
}

TEST(OpenaiStream, TellsTypedFailures) {
  check_streams({
      {"the stream dies in the text", {chunk(R"({"content":"b"})")}, "failed: cut"},
      {"the stream dies in a call", {piece(0, "c", "write", R"({"path":)")}, "failed: cut"},
      {"nothing at all", {}, "failed: cut"},
      {"an event that is no JSON", {chunk(R"({"content":"b"})"), R"({"choices":[{"del)"}, "failed: cut"},
      {"an error in the stream",
       {chunk(R"({"content":"b"})"), R"({"error":{"message":"boom","type":"server_error"}})"},
       "failed: transient"},
      {"the context is full, told late",
       {R"({"error":{"message":"This model's maximum context length is 4096 tokens.","code":400}})"},
       "failed: overflow"},
      {"no room for a first token",
       {chunk("{}", "length"), R"({"choices":[],"usage":{"prompt_tokens":4096,"completion_tokens":0}})", kDone},
       "failed: overflow"},
      {"the filter took all", {chunk("{}", "content_filter"), kDone}, "failed: refused"},
      {"a refusal with words", {chunk(R"({"refusal":"I will not."})"), kStop}, "I will not. refusal"},
      {"a refusal after a call",
       {piece(0, "c", "build", "{}"), chunk("{}", "content_filter")},
       " refusal (calls of a refused reply were dropped) (the reply is empty)"},
  });
}

TEST(OpenaiStream, MergesThePiecesOfCalls) {
  const std::string a = R"({"path":)", b = R"("x"})", whole = R"({"path":"x"})";
  check_streams({
      {"one call",
       {piece(0, "c", "write", ""), piece(0, "", "", a), piece(0, "", "", b), kCalls},
       R"( {c write {"path":"x"}} calls)"},
      {"two calls in turns",
       {piece(0, "c", "write", a), piece(1, "d", "build", "{"), piece(0, "", "", b), piece(1, "", "", "}"), kCalls},
       R"( {c write {"path":"x"}} {d build {}} calls)"},
      {"the second call first",
       {piece(1, "d", "build", "{}"), piece(0, "c", "write", whole), kCalls},
       R"( {c write {"path":"x"}} {d build {}} calls)"},
      {"indexes from 1",
       {piece(1, "c", "write", whole), piece(2, "d", "build", "{}"), kCalls},
       R"( {c write {"path":"x"}} {d build {}} calls)"},
      {"one index, two ids",
       {piece(0, "c", "write", whole), piece(0, "d", "build", "{}"), kCalls},
       R"( {c write {"path":"x"}} {d build {}} calls)"},
      {"one index, two ids, of one tool, in pieces",
       {piece(0, "c", "write", a), piece(0, "c", "", b), piece(0, "d", "write", a), piece(0, "d", "", b), kCalls},
       R"( {c write {"path":"x"}} {d write {"path":"x"}} calls)"},
      {"no index",
       {piece(-1, "c", "write", a), piece(-1, "", "", b), piece(-1, "d", "build", "{}"), kCalls},
       R"( {c write {"path":"x"}} {d build {}} calls)"},
      {"neither index nor id",
       {piece(-1, "", "write", a), piece(-1, "", "", b), piece(-1, "", "build", "{}"), kCalls},
       R"( {call_1 write {"path":"x"}} {call_2 build {}} calls (calls without an id of their own were given one: 2))"},
      {"one id for two calls",
       {piece(0, "c", "write", whole), piece(1, "c", "write", R"({"path":"y"})"), kCalls},
       R"( {c write {"path":"x"}} {call_1 write {"path":"y"}} calls (calls without an id of their own were given one: 1))"},
      {"the id comes with the second piece",
       {piece(0, "", "write", a), piece(0, "c", "", b), kCalls},
       R"( {c write {"path":"x"}} calls)"},
      {"id and name with every piece",
       {piece(0, "c", "write", a), piece(0, "c", "write", b), kCalls},
       R"( {c write {"path":"x"}} calls)"},
      {"the whole call again at the end",
       {piece(0, "c", "write", whole), piece(0, "c", "write", whole), kCalls},
       R"( {c write {"path":"x"}} calls (a call of write came twice and counts once))"},
      {"an empty object ahead of the pieces",
       {piece(0, "c", "write", "{}"), piece(0, "", "", a), piece(0, "", "", b), kCalls},
       R"( {c write {"path":"x"}} calls)"},
      {"arguments before the name",
       {piece(0, "c", "", whole), piece(0, "c", "write", ""), kCalls},
       R"( {c write {"path":"x"}} calls)"},
      {"no arguments", {piece(0, "c", "build", ""), kCalls}, " {c build {}} calls"},
      {"the reason says stop", {piece(0, "c", "build", "{}"), kStop}, " {c build {}} calls"},
      {"text after a call",
       {piece(0, "c", "build", "{}"), chunk(R"({"content":"done"})"), kCalls},
       "done {c build {}} calls (text came after a call)"},
      {"an unknown tool is the loop's", {piece(0, "c", "fly", "{}"), kCalls}, " {c fly {}} calls"},
      {"an empty call",
       {piece(0, "", "", ""), piece(1, "c", "build", "{}"), kCalls},
       " {c build {}} calls (an empty call was dropped)"},
      {"a reason without calls",
       {chunk(R"({"content":"b"})", "tool_calls")},
       "b stop (the reply announced calls and has none)"},
  });
}

TEST(OpenaiStream, ReadsArgumentsAsTheyWereMeant) {
  const auto call = [](const std::string& arguments) {
    return std::vector<std::string>{piece(0, "c", "write", arguments), kCalls};
  };
  check_streams({
      {"double-encoded", call(R"("{\"path\":\"x\"}")"),
       R"( {c write {"path":"x"}} calls (write: arguments were double-encoded JSON))"},
      {"twice double-encoded", call(R"("\"{}\"")"),
       R"( {c write {}} calls (write: arguments were double-encoded JSON))"},
      {"raw line breaks", call("{\"path\":\"a\nb\tc\"}"),
       R"( {c write {"path":"a\nb\tc"}} calls (write: arguments had raw control characters in a string))"},
      {"a code fence", call("```json\n{\"path\":\"x\"}\n```"),
       R"( {c write {"path":"x"}} calls (write: arguments stood in a code fence))"},
      {"null", call("null"), " {c write {}} calls"},
      {"broken", call(R"({"path": x})"), R"( {c write {"path": x}} calls (write: arguments are no JSON object))"},
      {"no object", call("[1]"), " {c write [1]} calls (write: arguments are no JSON object)"},
      {"an object instead of text",
       {chunk(R"({"tool_calls":[{"id":"c","function":{"name":"write","arguments":{"path":"x"}}}]})"), kCalls},
       R"( {c write {"path":"x"}} calls)"},
  });
}

/// R29: whatever the reason says, a call is complete only if its arguments are.
TEST(OpenaiStream, ACallThatIsCutAnywhereNeverCounts) {
  const std::string arguments = R"({"path":"kernels/a.cpp","text":"int x = {1};\n\"q\""})";
  for (size_t length = 1; length < arguments.size(); length++) {
    for (const char* reason : {"tool_calls", "stop", "length"}) {
      const std::string got = read_stream(
          *make_openai_wire(),
          {piece(0, "c", "build", "{}"), piece(1, "d", "write", arguments.substr(0, length)), chunk("{}", reason)},
          {tools(), {}, false});
      EXPECT_EQ(got,
                " {c build {}} length (a call of write was cut and dropped) (the reply was cut by its length limit)")
          << reason << " at " << length;
    }
  }
}

TEST(OpenaiStream, AReplyAsLongAsItsLimitIsCut) {
  const std::string usage = R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":100}})";
  const Asked asked{tools(), 100, false};
  EXPECT_EQ(read_stream(*make_openai_wire(),
                        {piece(0, "c", "build", "{}"), piece(1, "d", "write", ""), kCalls, usage, kDone}, asked),
            " {c build {}} length (a call of write was cut and dropped) (the reply was cut by its length limit)");
}

TEST(OpenaiStream, TakesCallsFromTextOnlyWhereTheyHaveOneReading) {
  const auto text = [](const std::string& content) {
    return std::vector<std::string>{chunk(Json{{"content", content}}.dump()), kStop};
  };
  const std::string no_reading = "(the text holds the markup of a call that has no single reading)";
  const std::string one = "<tool_call>\n{\"name\": \"build\", \"arguments\": {}}\n</tool_call>";
  const std::string took =
      "(calls stood in the text and were taken: 1) (calls without an id of their own were given one: 1)";
  check_streams({
      {"a tag", text("now\n" + one), "now {call_1 build {}} calls " + took},
      {"two tags", text(one + one),
       " {call_1 build {}} {call_2 build {}} calls (calls stood in the text and were taken: 2) (calls without an id of "
       "their own were given one: 2)"},
      {"words after it", text(one + " and then"), one + " and then stop " + no_reading},
      {"an invented answer after it", text(one + "<tool_response>ok</tool_response>"),
       one + "<tool_response>ok</tool_response> stop " + no_reading},
      {"an unknown tool", text(R"(<tool_call>{"name":"fly","arguments":{}}</tool_call>)"),
       R"(<tool_call>{"name":"fly","arguments":{}}</tool_call> stop )" + no_reading},
      {"an example in a code block", text("so:\n```\n" + one + "\n```"),
       "so:\n```\n" + one + "\n``` stop " + no_reading},
      {"a function with parameters",
       text("<function=write>\n<parameter=path>\na.cpp\n</parameter>\n<parameter=text>\n42\n</parameter>\n</function>"),
       R"( {call_1 write {"path":"a.cpp","text":"42"}} calls )" + took},
      {"the same in a tag", text("<tool_call><function=build></function></tool_call>"),
       " {call_1 build {}} calls " + took},
      {"Mistral's", text(R"([TOOL_CALLS][{"name":"build","arguments":{}}])"), " {call_1 build {}} calls " + took},
      {"Llama's", text(R"(<|python_tag|>{"name":"build","parameters":{}}<|eom_id|>)"),
       " {call_1 build {}} calls " + took},
      {"nothing but the object", text(R"({"name":"build","arguments":{}})"), " {call_1 build {}} calls " + took},
      {"nothing but the object in a fence", text("```json\n{\"name\":\"build\",\"arguments\":{}}\n```"),
       " {call_1 build {}} calls " + took},
      {"an object that is no call", text(R"({"name":"build"})"), R"({"name":"build"} stop)"},
      {"an object among words", text(R"(I call {"name":"build","arguments":{}})"),
       R"(I call {"name":"build","arguments":{}} stop)"},
      {"real calls beside it",
       {piece(0, "c", "build", "{}"), chunk(Json{{"content", one}}.dump()), kCalls},
       one + " {c build {}} calls (text came after a call)"},
      {"at the end of the thinking",
       {chunk(Json{{"reasoning", "so " + one}}.dump()), kStop},
       " [thought: so] {call_1 build {}} calls (calls stood at the end of the thinking and were taken: 1) (calls "
       "without an id of their own were given one: 1)"},
      {"amid the thinking",
       {chunk(Json{{"reasoning", one + " or not"}}.dump()), kStop},
       " [thought: " + one +
           " or not] stop (the thinking holds the markup of a call) (the reply is nothing but thinking)"},
      {"in the thinking, with an answer",
       {chunk(Json{{"reasoning", one}, {"content", "b"}}.dump()), kStop},
       "b [thought: " + one + "] stop (the thinking holds the markup of a call)"},
  });
  EXPECT_EQ(read_stream(*make_openai_wire(), text(one), {{}, {}, false}), one + " stop") << "no tools were offered";
  EXPECT_EQ(read_stream(*make_openai_wire(), text(one), {tools(), {}, true}),
            " {call_1 build {}} calls (calls without an id of their own were given one: 1)")
      << "calls are expected there";
}

TEST(OpenaiBody, ReadsTheWholeResponse) {
  const auto wire = make_openai_wire();
  const Asked asked{tools(), {}, false};
  const struct {
    const char* what;
    const char* body;
    const char* shown;
  } cases[] = {
      {"text", R"({"choices":[{"message":{"role":"assistant","content":"b"},"finish_reason":"stop"}]})", "b stop"},
      {"null content with a call",
       R"({"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"build","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})",
       " {c build {}} calls"},
      {"no reason", R"({"choices":[{"message":{"content":"b"}}]})", "b stop (the reply ended without saying why)"},
      {"an error with status 200", R"({"error":{"message":"rate limited","code":429}})", "failed: transient"},
      {"an error as text", R"({"error":"model not loaded"})", "failed: other"},
      {"no choices", R"({"ok":true})", "failed: cut"},
      {"empty choices", R"({"choices":[]})", "failed: cut"},
      {"everything of the wrong type",
       R"({"choices":[{"message":{"content":7,"tool_calls":{"a":1},"reasoning":[]},"finish_reason":3}],"usage":"x","prompt_token_ids":9})",
       " stop (the reply is empty)"},
      {"a call of the wrong type",
       R"({"choices":[{"message":{"tool_calls":[7,null,{"function":3}]},"finish_reason":"stop"}]})",
       " stop (an empty call was dropped) (the reply is empty)"},
  };
  for (const auto& each : cases) EXPECT_EQ(read_body(*wire, each.body, asked), each.shown) << each.what;
}

Reply reply_of(const Wire& wire, const std::string& body) {
  const auto reader = wire.reader();
  reader->take_body(parse_own_json(body));
  return *settle(reader->take_draft(), {tools(), {}, false});
}

TEST(OpenaiBody, KeepsUsageTokensAndWhatIsWantedBack) {
  const Reply reply = reply_of(
      *make_openai_wire(),
      R"({"prompt_token_ids":[1,2],"usage":{"prompt_tokens":20,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":12},"cost":0.5},
    "choices":[{"token_ids":[7,8],"logprobs":{"content":[{"token":"a","logprob":-0.5},{"token":"b","logprob":-1.5}]},"finish_reason":"tool_calls",
    "message":{"reasoning_content":"so","reasoning_details":[{"type":"x"}],"tool_calls":[{"id":"c","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"build","arguments":"{}"}}]}}]})");
  EXPECT_EQ(reply.usage.input, 20);
  EXPECT_EQ(reply.usage.cached, 12);
  EXPECT_EQ(reply.usage.output, 3);
  EXPECT_EQ(reply.usage.cost_usd, 0.5);
  EXPECT_TRUE(reply.usage.known);
  EXPECT_EQ(reply.tokens.prompt, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(reply.tokens.output, (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(reply.tokens.logprobs, (std::vector<float>{-0.5f, -1.5f}));
  const Message back{.role = Role::kModel, .calls = reply.calls, .reasoning = reply.reasoning, .echo = reply.echo};
  const Json request = parse_own_json(make_openai_wire()->request({back}, {}, {.model = "m"}, {}));
  EXPECT_EQ(
      request["messages"][0].dump(),
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"build","arguments":"{}"},)"
      R"("extra_content":{"google":{"thought_signature":"s"}}}],"reasoning_content":"so","reasoning_details":[{"type":"x"}]})");
  const Json without =
      parse_own_json(make_openai_wire()->request({back}, {}, {.model = "m"}, {.reasoning_back = false}));
  EXPECT_FALSE(without["messages"][0].contains("reasoning_content"));
}

std::vector<Message> odd_history() {
  const ToolCall good{"call_1", "write", R"({"path":"x"})"}, broken{"call_2", "fly away!", R"({"path":)"};
  const ToolCall again{"call_1", "", ""};
  return {{.role = Role::kSystem, .text = "rules"},
          {.role = Role::kUser, .text = "go"},
          {.role = Role::kModel, .calls = {good, broken}},
          {.role = Role::kTool, .text = "written", .call = good, .data = "{}"},
          {.role = Role::kTool, .text = "no such tool", .call = broken, .data = R"({"error":"no such tool"})"},
          {.role = Role::kModel, .text = "hm", .calls = {again}},
          {.role = Role::kTool, .text = "\xff", .call = again, .data = "{}"},
          {.role = Role::kModel},
          {.role = Role::kUser, .text = "go on"}};
}

TEST(OpenaiRequest, IsWhatAServerTakesWhateverAModelWrote) {
  const Json request = parse_own_json(make_openai_wire()->request(
      odd_history(), tools(), {.model = "m", .temperature = 0.5, .max_tokens = 9, .extra = R"({"top_p":0.9})"}, {}));
  EXPECT_EQ(request["model"], "m");
  EXPECT_EQ(request["temperature"], 0.5);
  EXPECT_EQ(request["max_tokens"], 9);
  EXPECT_EQ(request["top_p"], 0.9);
  EXPECT_EQ(request["stream_options"].dump(), R"({"include_usage":true})");
  EXPECT_EQ(
      request["tools"][1].dump(),
      R"({"type":"function","function":{"name":"build","description":"Builds.","parameters":{"type":"object","properties":{}}}})");
  const Json& messages = request["messages"];
  EXPECT_EQ(messages[0].dump(), R"({"role":"system","content":"rules"})");
  EXPECT_TRUE(messages[2]["content"].is_null());
  const Json& calls = messages[2]["tool_calls"];
  EXPECT_EQ(calls[0]["function"]["arguments"], R"({"path":"x"})");
  EXPECT_EQ(calls[1]["function"]["name"], "fly_away_");
  EXPECT_EQ(calls[1]["function"]["arguments"], R"({"malformed_arguments":"{\"path\":"})");
  EXPECT_EQ(messages[4].dump(), R"({"role":"tool","tool_call_id":"call_2","content":"no such tool"})");
  EXPECT_EQ(messages[5]["tool_calls"][0]["id"], "call_1_2");
  EXPECT_EQ(messages[5]["tool_calls"][0]["function"]["name"], "unnamed");
  EXPECT_EQ(messages[6]["tool_call_id"], "call_1_2");
  EXPECT_EQ(messages[6]["content"], "\xEF\xBF\xBD");
  EXPECT_EQ(messages[7].dump(), R"x({"role":"assistant","content":"(nothing)"})x");
}

TEST(OpenaiRequest, FollowsWhatTheEndpointTakes) {
  const auto request = [](const Features& features) {
    return parse_own_json(
        make_openai_wire()->request(odd_history(), {}, {.model = "m", .max_tokens = 9, .token_ids = true}, features));
  };
  EXPECT_EQ(request({.completion_limit = true})["max_completion_tokens"], 9);
  EXPECT_FALSE(request({.completion_limit = true}).contains("max_tokens"));
  EXPECT_EQ(request({.stream = false})["stream"], false);
  EXPECT_FALSE(request({.stream = false}).contains("stream_options"));
  EXPECT_FALSE(request({.stream_usage = false}).contains("stream_options"));
  EXPECT_FALSE(request({}).contains("tools"));
  EXPECT_EQ(request({})["return_token_ids"], true);
  EXPECT_EQ(request({.empty = EmptyContent::kEmpty})["messages"][2]["content"], "");
  EXPECT_FALSE(request({.empty = EmptyContent::kAbsent})["messages"][2].contains("content"));
}

// ---- Anthropic

const std::string kStart =
    R"({"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}}})";
const std::string kMessageStop = R"({"type":"message_stop"})";
const std::string kText = R"({"type":"text","text":""})";
const std::string kBuild = R"({"type":"tool_use","id":"c","name":"build","input":{}})";
const std::string kWrite = R"({"type":"tool_use","id":"c","name":"write","input":{}})";
const std::string kInputA = R"({"type":"input_json_delta","partial_json":"{\"path\":"})";
const std::string kInputB = R"({"type":"input_json_delta","partial_json":"\"x\"}"})";
const std::string kHi = R"({"type":"text_delta","text":"hi"})";

std::string open_block(int index, const std::string& block) {
  return fmt::format(R"({{"type":"content_block_start","index":{},"content_block":{}}})", index, block);
}

std::string block_delta(int index, const std::string& what) {
  return fmt::format(R"({{"type":"content_block_delta","index":{},"delta":{}}})", index, what);
}

std::string reason(const std::string& why) {
  return fmt::format(R"({{"type":"message_delta","delta":{{"stop_reason":"{}"}},"usage":{{"output_tokens":40}}}})",
                     why);
}

void check_blocks(const std::vector<StreamCase>& cases) {
  for (const StreamCase& each : cases) {
    EXPECT_EQ(read_stream(*make_anthropic_wire(), each.events, {tools(), {}, false}), each.shown) << each.what;
  }
}

TEST(AnthropicStream, ReadsBlocks) {
  check_blocks({
      {"text",
       {kStart, open_block(0, kText), R"({"type":"ping"})", block_delta(0, kHi), reason("end_turn"), kMessageStop},
       "hi stop"},
      {"thinking and a call",
       {kStart, open_block(0, R"({"type":"thinking","thinking":"","signature":""})"),
        block_delta(0, R"({"type":"thinking_delta","thinking":"so"})"),
        block_delta(0, R"({"type":"signature_delta","signature":"sig"})"), open_block(1, kWrite),
        block_delta(1, kInputA), block_delta(1, kInputB), reason("tool_use"), kMessageStop},
       R"( [thought: so] {c write {"path":"x"}} calls)"},
      {"blocks in turns and out of order",
       {kStart, open_block(1, kWrite), open_block(0, kText), block_delta(1, kInputA), block_delta(0, kHi),
        block_delta(1, kInputB), reason("tool_use"), kMessageStop},
       R"(hi {c write {"path":"x"}} calls)"},
      {"a call without input",
       {kStart, open_block(0, kBuild), reason("tool_use"), kMessageStop},
       " {c build {}} calls"},
      {"text after a call",
       {kStart, open_block(0, kBuild), open_block(1, kText), block_delta(1, kHi), reason("tool_use"), kMessageStop},
       "hi {c build {}} calls (text came after a call)"},
      {"a block whose start was lost", {kStart, block_delta(0, kHi), reason("end_turn"), kMessageStop}, "hi stop"},
      {"a block of an unknown type",
       {kStart, open_block(0, R"({"type":"song"})"), open_block(1, kText), block_delta(1, kHi), reason("end_turn")},
       "hi stop (a block of type \"song\" was passed over)"},
      {"an event of an unknown type",
       {kStart, R"({"type":"news"})", open_block(0, R"({"type":"text","text":"hi"})"), reason("end_turn")},
       "hi stop"},
  });
}

TEST(AnthropicStream, TellsCutsAndTypedFailures) {
  const std::string cut =
      " length (a call of write was cut and dropped) (the reply was cut by its length limit) (the reply is empty)";
  check_blocks({
      {"a call cut by the limit",
       {kStart, open_block(0, kWrite), block_delta(0, kInputA), reason("max_tokens"), kMessageStop},
       cut},
      {"a call cut, though it says otherwise",
       {kStart, open_block(0, kWrite), block_delta(0, kInputA), reason("tool_use"), kMessageStop},
       cut},
      {"the stream dies before its reason", {kStart, open_block(0, kText), block_delta(0, kHi)}, "failed: cut"},
      {"the stream dies after its reason",
       {kStart, open_block(0, kText), block_delta(0, kHi), reason("end_turn")},
       "hi stop"},
      {"overloaded",
       {kStart, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})"},
       "failed: transient"},
      {"a refusal without words", {kStart, reason("refusal"), kMessageStop}, "failed: refused"},
      {"a refusal with words",
       {kStart, open_block(0, kText), block_delta(0, kHi), reason("refusal"), kMessageStop},
       "hi refusal"},
      {"the context is full",
       {kStart, open_block(0, kText), block_delta(0, kHi), reason("model_context_window_exceeded")},
       "failed: overflow"},
      {"no JSON", {kStart, "<html>"}, "failed: cut"},
  });
}

TEST(AnthropicStream, AddsUpUsage) {
  const auto reader = make_anthropic_wire()->reader();
  for (const std::string& data : {kStart, open_block(0, kText), block_delta(0, kHi), reason("end_turn"), kMessageStop})
    reader->take_event({"", data});
  const Usage usage = reader->take_draft().usage;
  EXPECT_EQ(usage.input, 125);
  EXPECT_EQ(usage.cached, 100);
  EXPECT_EQ(usage.output, 40);
  EXPECT_TRUE(usage.known);
}

TEST(AnthropicBody, ReadsTheWholeResponse) {
  const auto wire = make_anthropic_wire();
  const Asked asked{tools(), {}, false};
  EXPECT_EQ(
      read_body(
          *wire,
          R"({"type":"message","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"c","name":"write","input":{"path":"x"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}})",
          asked),
      R"(hi {c write {"path":"x"}} calls)");
  EXPECT_EQ(
      read_body(
          *wire,
          R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}})",
          asked),
      "failed: overflow");
  EXPECT_EQ(read_body(*wire, R"({"type":"message"})", asked), "failed: cut");
  EXPECT_EQ(read_body(*wire, R"({"content":[7,{"type":3}],"stop_reason":null})", asked).substr(0, 5), " stop");
}

TEST(AnthropicRequest, SendsThinkingBackAndAnswersCallsInOneMessage) {
  const Reply reply = reply_of(
      *make_anthropic_wire(),
      R"({"content":[{"type":"thinking","thinking":"so","signature":"sig"},{"type":"tool_use","id":"c","name":"build","input":{}}],"stop_reason":"tool_use"})");
  std::vector<Message> history = odd_history();
  history.push_back({.role = Role::kModel, .calls = reply.calls, .reasoning = reply.reasoning, .echo = reply.echo});
  history.push_back({.role = Role::kTool, .text = "built", .call = reply.calls[0], .data = "{}"});
  const Json request = parse_own_json(make_anthropic_wire()->request(history, tools(), {.model = "m"}, {}));
  EXPECT_EQ(request["system"], "rules");
  EXPECT_GT(request["max_tokens"], 1000);
  EXPECT_EQ(request["tools"][1].dump(),
            R"({"name":"build","description":"Builds.","input_schema":{"type":"object","properties":{}}})");
  const Json& messages = request["messages"];
  for (size_t i = 0; i < messages.size(); i++) EXPECT_EQ(messages[i]["role"], i % 2 == 0 ? "user" : "assistant");
  EXPECT_EQ(messages[1]["content"][1].dump(),
            R"({"type":"tool_use","id":"call_2","name":"fly_away_","input":{"malformed_arguments":"{\"path\":"}})");
  EXPECT_EQ(messages[2]["content"].size(), 2u);
  EXPECT_EQ(messages[2]["content"][1].dump(),
            R"({"type":"tool_result","tool_use_id":"call_2","content":"no such tool","is_error":true})");
  EXPECT_EQ(
      messages[7]["content"].dump(),
      R"([{"type":"thinking","thinking":"so","signature":"sig"},{"type":"tool_use","id":"c","name":"build","input":{}}])");
  EXPECT_EQ(messages[8]["content"].dump(),
            R"([{"type":"tool_result","tool_use_id":"c","content":"built","cache_control":{"type":"ephemeral"}}])");
}

/// Whatever JSON comes, it is read to some end: no exception, no crash.
TEST(Wire, ReadsAnyJsonToSomeEnd) {
  std::mt19937 random(1);
  const auto below = [&](size_t bound) { return random() % bound; };
  const std::vector<std::string> seeds = {
      kStart,
      open_block(0, kWrite),
      block_delta(0, kInputA),
      reason("tool_use"),
      chunk(R"({"reasoning_details":[{"a":1}],"content":[{"text":"a"}]})"),
      R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","extra_content":{"a":1},"function":{"name":"n","arguments":"{}"}}]},"token_ids":[1],"logprobs":{"content":[{"logprob":-1}]}}],"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":1}}})",
      R"({"error":{"message":"m","type":"t","code":1,"metadata":{"raw":"r"}}})",
      R"({"content":[{"type":"tool_use","input":{"a":1}},{"type":"thinking","thinking":"x"}],"stop_reason":"refusal"})"};
  const std::vector<Json> values = {nullptr,          true,      -1, 1.5, "", "x", Json::array(), Json::object(),
                                    Json::array({1}), {{"a", 1}}};
  const std::function<void(Json&)> disturb = [&](Json& json) {
    if (!json.is_structured() || json.empty() || below(4) == 0) {
      json = values[below(values.size())];
      return;
    }
    disturb(*std::next(json.begin(), static_cast<std::ptrdiff_t>(below(json.size()))));
  };
  for (int round = 0; round < 4000; round++) {
    const auto wire = round % 2 == 0 ? make_openai_wire() : make_anthropic_wire();
    const auto reader = wire->reader();
    for (int event = 0; event < 4; event++) {
      Json json = parse_own_json(seeds[below(seeds.size())]);
      disturb(json);
      if (round % 8 < 2) reader->take_body(json);
      reader->take_event({"", json.dump()});
    }
    Draft draft = reader->take_draft();
    Message back{.role = Role::kModel, .text = draft.text, .reasoning = draft.reasoning, .echo = draft.echo};
    for (const DraftCall& call : draft.calls) back.calls.push_back({call.id, call.tool, call.arguments});
    wire->request({back}, tools(), {.model = "m"}, {});
    shown(settle(std::move(draft), {tools(), 7, false}));
  }
}

TEST(Arguments, ForeignJsonIsNotFollowedIntoTheDepth) {
  const std::string deep(100'000, '[');
  EXPECT_FALSE(parse_foreign(deep + std::string(100'000, ']')));
  EXPECT_EQ(read_arguments("{\"a\":" + deep).state, ArgumentsState::kCut);
  EXPECT_EQ(sendable_arguments("{\"a\":" + deep + std::string(100'000, ']') + "}").substr(0, 24),
            R"({"malformed_arguments":")");
}

}  // namespace
}  // namespace ww::agent
