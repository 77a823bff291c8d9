// SPDX-License-Identifier: Apache-2.0
//
// A trusted process of the same kind as a side that is timed, running spins of known length: outer minus inner is the
// clock's base and its spread the clock's error. Same program, sandbox, threads and engine as the side. One thread at a
// time; left stopped between samples.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "judge/runner_client.h"
#include "judge/timed_call.h"

namespace ww::judge {

struct TwinSample {
  nanoseconds outer{};
  nanoseconds inner{};  ///< trusted here
};

/// Twin of native runners.
class ClockTwin {
 public:
  /// Throws Fault: a twin that fails is ours.
  explicit ClockTwin(const RunnerProcessSetup& setup);
  ~ClockTwin();

  /// All threads spin for `spin`, which is 0 for the bare hand-shake. While the twin is stopped `staged_bytes` are
  /// written and flushed, as a side's staging does: it empties the caches that the hand-shake runs on, and the core
  /// rests meanwhile (32 MiB were seen to add 24 us). Throws Fault.
  TwinSample sample(nanoseconds spin, uint64_t staged_bytes = 0);
  const Endpoint& endpoint() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ww::judge
