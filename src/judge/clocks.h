// SPDX-License-Identifier: Apache-2.0
//
// The two trusted clock twins (native, Python) behind one call. One thread at a time.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "judge/ballast.h"
#include "judge/clock_twin.h"
#include "judge/measurement.h"
#include "judge/referee_client.h"

namespace ww::judge {

/// Spins of the twins, microseconds: those of design.md 4.4, and 3 ms to spare the longest.
inline constexpr std::array<double, 5> kSpins_us = {0, 100, 1000, 3000, 10'000};

/// The spins that enclose `duration_us`: the two neighbours, or the outermost alone.
std::pair<double, double> enclosing_spins(double duration_us);

/// What the two clocks say of a call.
timing::Clocked clocked(const CallTimes& times);

class Clocks {
 public:
  /// Throws Fault: twins are ours.
  Clocks(const RunnerProcessSetup& setup, RefereeParent& parent);

  /// As much memory is staged and flushed before the spin as before a call that is timed: staging leaves the processor
  /// in a state that the next few microseconds pay for.
  timing::Probe probe(TwinKind kind, double spin_us, uint64_t staged_bytes);

 private:
  ClockTwin native_;
  std::unique_ptr<RefereeChild> python_;
  Ballast ballast_;
  uint64_t sequence_ = 0;
};

}  // namespace ww::judge
