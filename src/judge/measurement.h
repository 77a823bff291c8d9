// SPDX-License-Identifier: Apache-2.0
//
// The timed calls of one workload, as they come in: rounds of all sides, probes of the trusted twins from among them,
// blocks of neighbouring rounds. Turns them into bounded samples, says when there are enough, and yields the figures.
// Pure bookkeeping over module timing: starts and stops nothing.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "task/task.h"
#include "timing/rounds.h"
#include "timing/sample.h"
#include "verdict/verdict.h"

namespace ww::judge {

enum class Side { kSolution, kEager, kCompile, kCompileMax };

/// The two kinds of processes whose calls are timed; each kind has a trusted twin.
enum class TwinKind { kNative, kPython };
inline TwinKind twin_of(Side side) { return side == Side::kSolution ? TwinKind::kNative : TwinKind::kPython; }

class Measurement {
 public:
  /// `sides` starts with kSolution.
  Measurement(std::vector<Side> sides, task::ClockPolicy clock);

  const std::vector<Side>& sides() const { return sides_; }

  /// Rounds and probes from here on belong together: made one after the other, with the same weights and placement.
  void begin_block();
  void add_probe(TwinKind kind, timing::Probe probe);
  /// One call of each side, in the order of sides(). A round with a disturbed call is counted and left out.
  void add_round(std::span<const timing::Clocked> calls);
  size_t rounds() const { return rounds_; }

  /// Whether to go on with so much sampling time left, asked at the end of a block. Requires: probes of both kinds are
  /// enough (BaseEstimator::ready).
  timing::StoppingRule::Answer ask(nanoseconds left);

  /// What the outer clock adds to a call of this kind that took about `duration_us`; none before there are enough
  /// probes.
  std::optional<timing::Base> base(TwinKind kind, double duration_us) const;

  /// All samples, bounded by what all the probes say. Requires: enough probes of both kinds, or the device clock.
  timing::Rounds bounded() const { return bounded(clock_); }
  /// The same under another policy; kDevice takes the claims.
  timing::Rounds bounded(task::ClockPolicy clock) const;
  timing::ClockMismatch mismatch() const;

 private:
  const timing::BaseEstimator& estimator(TwinKind kind) const;
  timing::Sample bound(Side side, timing::Clocked call, task::ClockPolicy clock) const;

  struct Block {
    std::vector<std::vector<timing::Clocked>> rounds;
    std::vector<timing::Probe> native_probes;
  };

  std::vector<Side> sides_;
  task::ClockPolicy clock_;
  timing::StoppingRule stopping_;
  timing::BaseEstimator native_, python_;
  std::vector<Block> blocks_;
  size_t rounds_ = 0, disturbed_ = 0;
};

/// How samples become figures, the same for every workload of a verdict.
const timing::Method& cpu_method();

/// The figures of one workload. Requires: at least timing::kFewestRounds rounds.
verdict::WorkloadTiming workload_figures(const timing::Rounds& rounds, const std::vector<Side>& sides,
                                         std::optional<double> prepare_us);

/// compile's time and ratio from eager's and `factor`, a cached ratio of eager over compile, where compile was not
/// timed.
void scale_compile(verdict::WorkloadTiming& timing, const verdict::Ratio& factor);

/// The verdict's figures: sums of times, geometric means of ratios resampled jointly. `factors` are the cached ratios
/// of eager over compile where compile was not timed, else empty.
verdict::Timing total_figures(std::span<const timing::Rounds> rounds, const std::vector<Side>& sides,
                              const std::vector<verdict::WorkloadTiming>& workloads,
                              const std::vector<verdict::Ratio>& factors);

}  // namespace ww::judge
