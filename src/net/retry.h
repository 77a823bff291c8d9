// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before asking a server again. Pure but for `pause`.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "net/http.h"

namespace ww::net {

struct RetryPolicy {
  int tries = 6;                      ///< the first one included
  milliseconds first_wait{1'000};     ///< doubled with every further try
  milliseconds longest_wait{60'000};  ///< of our own making
  milliseconds patience{600'000};     ///< a server that asks for more is not waited for
};

/// Status codes after which the same request may succeed: 408 425 429 500 502 503 504 529.
bool is_transient(int status);

/// What the server asks for, if it does: retry-after-ms, Retry-After (seconds or a date), and with status 429 the reset
/// of the limit that is used up (x-ratelimit-reset-requests|tokens, anthropic-ratelimit-*-reset). `unix_now_s` is
/// seconds since 1970, for dates. Never negative.
std::optional<milliseconds> requested_wait(int status, const Headers& headers, double unix_now_s);

/// The wait after the failed try number `tried` (from 1): the server's wish plus up to a tenth, or else half to all of
/// the doubled first wait. `random` is uniform in [0, 1). None: give up.
std::optional<milliseconds> wait_before_retry(const RetryPolicy& policy, int tried,
                                              std::optional<milliseconds> requested, double random);

/// Sleeps. Throws Fault{kInterrupted} within 0.1 s of a stop; `stop` may be null.
void pause(milliseconds time, const std::atomic<bool>* stop);

}  // namespace ww::net
