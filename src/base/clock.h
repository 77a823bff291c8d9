// SPDX-License-Identifier: Apache-2.0
//
// The monotonic clock, and nothing else: time points are nanoseconds since an arbitrary start.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace ww {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// CLOCK_MONOTONIC.
inline nanoseconds now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return nanoseconds(t.tv_sec * 1'000'000'000LL + t.tv_nsec);
}

inline double to_us(nanoseconds value) { return static_cast<double>(value.count()) / 1e3; }
inline double to_seconds(nanoseconds value) { return static_cast<double>(value.count()) / 1e9; }

}  // namespace ww
