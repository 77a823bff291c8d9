// SPDX-License-Identifier: Apache-2.0
#include "net/retry.h"

#include <gtest/gtest.h>

namespace ww::net {
namespace {

constexpr double kNow = 1767225600;  // 2026-01-01 00:00:00 UTC

std::optional<int64_t> asked(int status, const Headers& headers) {
  const auto wait = requested_wait(status, headers, kNow);
  return wait ? std::optional(wait->count()) : std::nullopt;
}

TEST(Retry, ReadsWhatTheServerAsksFor) {
  const struct {
    const char* what;
    int status;
    Headers headers;
    std::optional<int64_t> wait_ms;
  } cases[] = {
      {"nothing", 429, {{"Content-Type", "text/html"}}, std::nullopt},
      {"seconds", 503, {{"Retry-After", "7"}}, 7000},
      {"a fraction", 429, {{"retry-after", "0.25"}}, 250},
      {"milliseconds go first", 429, {{"Retry-After", "7"}, {"retry-after-ms", "1500"}}, 1500},
      {"a date", 429, {{"Retry-After", "Thu, 01 Jan 2026 00:01:30 GMT"}}, 90000},
      {"a date that is over", 429, {{"Retry-After", "Wed, 31 Dec 2025 23:00:00 GMT"}}, 0},
      {"a negative number", 429, {{"Retry-After", "-5"}}, 0},
      {"a number beyond all bounds", 429, {{"Retry-After", "1e300"}}, 1'000'000'000'000},
      {"no number and no date", 429, {{"Retry-After", "soon"}}, std::nullopt},
      {"a limit that is used up",
       429,
       {{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "6m0.5s"}},
       360500},
      {"only the limit that is used up counts",
       429,
       {{"x-ratelimit-remaining-tokens", "9"},
        {"x-ratelimit-reset-tokens", "1h"},
        {"x-ratelimit-remaining-requests", "0"},
        {"x-ratelimit-reset-requests", "20ms"}},
       20},
      {"Anthropic's",
       429,
       {{"anthropic-ratelimit-input-tokens-remaining", "0"},
        {"anthropic-ratelimit-input-tokens-reset", "2026-01-01T00:00:12Z"}},
       12000},
      {"limits say nothing about other errors",
       500,
       {{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "20s"}},
       std::nullopt},
      {"a duration without a unit that is known",
       429,
       {{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "3 fortnights"}},
       std::nullopt},
  };
  for (const auto& each : cases) EXPECT_EQ(asked(each.status, each.headers), each.wait_ms) << each.what;
}

TEST(Retry, BacksOffWithJitterUpToItsLongestWait) {
  const RetryPolicy policy{.tries = 10, .first_wait = milliseconds(1000), .longest_wait = milliseconds(5000)};
  const auto wait = [&](int tried, double random) {
    return wait_before_retry(policy, tried, std::nullopt, random)->count();
  };
  EXPECT_EQ(wait(1, 0), 500);
  EXPECT_EQ(wait(1, 0.5), 750);
  EXPECT_EQ(wait(3, 0), 2000);
  EXPECT_EQ(wait(9, 0), 2500);
}

TEST(Retry, WaitsAsLongAsTheServerAsksOrGivesUp) {
  const RetryPolicy policy{.tries = 3, .patience = milliseconds(60'000)};
  EXPECT_EQ(wait_before_retry(policy, 1, milliseconds(30'000), 0)->count(), 30'000);
  EXPECT_EQ(wait_before_retry(policy, 1, milliseconds(30'000), 0.5)->count(), 31'500);
  EXPECT_FALSE(wait_before_retry(policy, 1, milliseconds(61'000), 0));
  EXPECT_FALSE(wait_before_retry(policy, 3, std::nullopt, 0));
}

TEST(Retry, KnowsWhichStatusMayPass) {
  for (const int status : {408, 429, 500, 503, 529}) EXPECT_TRUE(is_transient(status)) << status;
  for (const int status : {200, 301, 400, 401, 404, 501}) EXPECT_FALSE(is_transient(status)) << status;
}

TEST(Retry, AStopEndsAPause) {
  const std::atomic<bool> stop = true;
  EXPECT_THROW(pause(std::chrono::hours(1), &stop), Fault);
}

}  // namespace
}  // namespace ww::net
