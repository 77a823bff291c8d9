// SPDX-License-Identifier: Apache-2.0
#include "net/sse.h"

#include <gtest/gtest.h>

#include <vector>

namespace ww::net {
namespace {

struct Parsed {
  std::vector<std::string> events;  ///< "type|data"
  int64_t comments = 0;
};

/// `step` bytes at a time.
Parsed parse(const std::string& text, size_t step, bool finish = false) {
  Parsed parsed;
  SseParser parser;
  const auto take = [&](const SseEvent& event) { parsed.events.push_back(event.type + "|" + event.data); };
  for (size_t at = 0; at < text.size(); at += step)
    EXPECT_TRUE(parser.feed(std::string_view(text).substr(at, step), take));
  if (finish) parser.finish(take);
  parsed.comments = parser.comments();
  return parsed;
}

using Events = std::vector<std::string>;

TEST(Sse, ReadsEventsInPiecesOfAnySize) {
  const struct {
    const char* what;
    std::string text;
    Events events;
  } cases[] = {
      {"lines end in LF", "data: a\n\ndata: b\n\n", {"|a", "|b"}},
      {"lines end in CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", {"|a", "|b"}},
      {"lines end in CR", "data: a\r\rdata: b\r\r", {"|a", "|b"}},
      {"a mixture", "data: a\r\ndata: b\rdata: c\n\r\n", {"|a\nb\nc"}},
      {"data of several lines", "data: a\ndata:\ndata: b\n\n", {"|a\n\nb"}},
      {"the type", "event: ping\ndata: {}\n\ndata: x\n\n", {"ping|{}", "|x"}},
      {"one blank after the colon goes", "data:a\n\ndata:  b\n\n", {"|a", "| b"}},
      {"comments, ids and unknown fields", ": hello\nid: 7\nretry: 5\nwhatever\ndata: a\n: more\n\n", {"|a"}},
      {"no data, no event", "event: x\n\n\n\ndata\n\n", {"|"}},
      {"a byte order mark",
       "\xEF\xBB\xBF"
       "data: a\n\n",
       {"|a"}},
      {"bytes of no meaning", "data: \xff\n\n" + std::string(1, '\0') + "\n\n", {"|\xff"}},
  };
  for (const auto& each : cases) {
    for (size_t step = 1; step <= each.text.size(); step++) {
      EXPECT_EQ(parse(each.text, step).events, each.events) << each.what << ", step " << step;
    }
  }
}

TEST(Sse, CountsKeepAliveComments) { EXPECT_EQ(parse(": a\n\n:\n\ndata: x\n\n", 3).comments, 2); }

TEST(Sse, GivesALastEventThatLacksItsEmptyLineButNoHalfLine) {
  EXPECT_EQ(parse("data: a\n\ndata: [DONE]\n", 4, true).events, (Events{"|a", "|[DONE]"}));
  EXPECT_EQ(parse("data: a\n\ndata: {\"x\": 1", 4, true).events, (Events{"|a"}));
}

TEST(Sse, GivesUpOnAnEventWithoutEnd) {
  SseParser parser;
  const std::string piece(1 << 20, 'x');
  int fed = 0;
  while (parser.feed(piece, [](const SseEvent&) {})) fed++;
  EXPECT_EQ(fed, SseParser::kEventLimit >> 20);
  EXPECT_FALSE(parser.feed("\n\ndata: a\n\n", [](const SseEvent&) { FAIL(); }));
}

}  // namespace
}  // namespace ww::net
