// SPDX-License-Identifier: Apache-2.0
//
// The two trusted clock twins (native, Python) behind one call. One thread at a time.
#pragma once

#include <array>
#include <memory>
#include <random>

#include "judge/clock_twin.h"
#include "judge/measurement.h"
#include "judge/referee_client.h"

namespace ww::judge {

/// Spins of the twins, microseconds: design.md 4.4.
inline constexpr std::array<double, 4> kSpins_us = {0, 100, 1000, 10'000};

/// The spins that enclose `duration_us`: the two neighbours, or the outermost alone.
std::pair<double, double> enclosing_spins(double duration_us);

class Clocks {
 public:
  /// Throws Fault: twins are ours.
  Clocks(const RunnerProcessSetup& setup, RefereeParent& parent);

  timing::Probe probe(TwinKind kind, double spin_us);

 private:
  ClockTwin native_;
  std::unique_ptr<RefereeChild> python_;
  uint64_t sequence_ = 0;
};

}  // namespace ww::judge
