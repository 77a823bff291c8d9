// SPDX-License-Identifier: Apache-2.0
//
// One timed call as two clocks saw it, and the trusted twin's estimate of what the outer clock adds. Pure code.
// docs/statistics.md, sections 1 and 2.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ww::timing {

/// One call: `inner_us` is the claim of the process that ran it, `outer_us` ours, from go to closed.
struct Clocked {
  double inner_us = 0;
  double outer_us = 0;
  bool disturbed = false;  ///< by something that the judge itself measured: the go came late
};

/// What the outer clock adds to a call (`base_us`) and how far a single call may stray from that (`error_us`).
struct Base {
  double base_us = 0;
  double error_us = 0;
};

/// One call of the trusted twin: it spun for `spin_us`, and the outer clock read `extra_us` more than the inner one.
struct Probe {
  double spin_us = 0;
  double extra_us = 0;
};

/// From twin probes to base and error, as a function of the call's duration. Order of probes does not matter.
class BaseEstimator {
 public:
  /// Fewest probes of one spin length that count.
  static constexpr size_t kFewestProbes = 5;

  void add(Probe probe);
  void add(std::span<const Probe> probes);

  /// At least one spin length has kFewestProbes.
  bool ready() const;
  size_t probes() const;

  /// Requires: ready(). Linear between spin lengths, constant below the shortest; above the longest the base stays and
  /// the error grows with its last slope.
  Base at(double duration_us) const;
  /// The same where only the outer clock is to be believed: at(outer_us less the shortest spin's base).
  Base for_outer(double outer_us) const;

 private:
  struct Spin {
    double spin_us;
    std::vector<double> extra_us;
  };
  struct Knot {
    double spin_us;
    Base base;
  };

  std::vector<Spin> spins_;  // both by ascending spin_us
  std::vector<Knot> knots_;  // of the spins with enough probes
};

/// A call's time lies in [low_us, high_us]: max(inner, outer - base - error) to max(inner, outer - base + error), inner
/// being at most outer, so that a false claim moves an interval's far end not at all and its near end by no more than
/// the error that is stated. time_us = max(inner, outer - base) is the best single figure: no claim moves it below what
/// the outer clock says.
struct Sample {
  double low_us = 0;
  double time_us = 0;
  double high_us = 0;
  double base_us = 0;
  double error_us = 0;
};

Sample bound_sample(Clocked call, Base base);
/// With the base at this call's own outer time. Requires: estimator.ready().
Sample bound_sample(Clocked call, const BaseEstimator& estimator);

/// Calls of one side made one after the other, with the twin's probes from among them.
struct ClockBlock {
  std::vector<Clocked> calls;
  std::vector<Probe> probes;  ///< may be empty
};

struct ClockMismatch {
  bool found = false;
  size_t blocks = 0;     ///< blocks beyond the limit
  double excess_us = 0;  ///< largest lower quartile of outer - base - inner
  double error_us = 0;   ///< the error it is held against
};

/// Found where the lower quartile of outer - base - inner lies beyond five errors in two blocks that are not
/// neighbours. A block's own probes raise its base and error above the estimator's, never lower them: load that the
/// twin saw too is no lie. Blocks with fewer than 4 calls are ignored. Requires: estimator.ready().
ClockMismatch find_clock_mismatch(std::span<const ClockBlock> blocks, const BaseEstimator& estimator);

}  // namespace ww::timing
