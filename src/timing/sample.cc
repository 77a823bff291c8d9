// SPDX-License-Identifier: Apache-2.0
#include "timing/sample.h"

#include <algorithm>
#include <cmath>

#include "base/fault.h"
#include "timing/quantile.h"

namespace ww::timing {
namespace {

/// A twin in a quiet second agrees with itself to a few tenths of a microsecond; claiming less than this is luck.
constexpr double kErrorFloorUs = 1.0;
/// The clocks count nanoseconds: no call took less, whatever is claimed.
constexpr double kResolutionUs = 1e-3;
/// Fewest calls that make a block worth a quartile.
constexpr size_t kFewestCalls = 4;
/// Design: beyond five errors, in two separate blocks.
constexpr double kMismatchErrors = 5;
constexpr size_t kMismatchBlocks = 2;

Base base_of(const std::vector<double>& extra_us) {
  const double median = quantile(extra_us, 0.5);
  std::vector<double> away(extra_us.size());
  std::transform(extra_us.begin(), extra_us.end(), away.begin(), [&](double x) { return std::abs(x - median); });
  // 1.4826: median deviation to standard deviation; 1.25: standard error of a median against that of a mean.
  const double median_error = 1.25 * 1.4826 * quantile(away, 0.5) / std::sqrt(static_cast<double>(extra_us.size()));
  const double below = median - quantile(extra_us, 0.10);
  const double above = quantile(extra_us, 0.75) - median;
  return {median, std::max(kErrorFloorUs, std::max(below, above) + 2 * median_error)};
}

double excess_us(Clocked call, const BaseEstimator& estimator) {
  return call.outer_us - estimator.for_outer(call.outer_us).base_us - call.inner_us;
}

/// How much more the block's own twin calls took than the estimator expects: load at that time, not a lie.
double load_us(const ClockBlock& block, const BaseEstimator& estimator) {
  if (block.probes.empty()) return 0;
  std::vector<double> over;
  for (const Probe& probe : block.probes) over.push_back(probe.extra_us - estimator.at(probe.spin_us).base_us);
  return std::max(0.0, quantile(std::move(over), 0.75));
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  WW_CHECK(!values.empty(), "quantile of nothing");
  const double position = q * static_cast<double>(values.size() - 1);
  const auto index = static_cast<size_t>(position);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), at, values.end());
  if (index + 1 == values.size()) return *at;
  const double next = *std::min_element(at + 1, values.end());
  return *at + (position - static_cast<double>(index)) * (next - *at);
}

void BaseEstimator::add(Probe probe) {
  auto spin = std::lower_bound(spins_.begin(), spins_.end(), probe.spin_us,
                               [](const Spin& s, double value) { return s.spin_us < value; });
  if (spin == spins_.end() || spin->spin_us != probe.spin_us) spin = spins_.insert(spin, Spin{probe.spin_us, {}});
  spin->extra_us.push_back(probe.extra_us);
  if (spin->extra_us.size() < kFewestProbes) return;
  const Base base = base_of(spin->extra_us);
  auto knot = std::lower_bound(knots_.begin(), knots_.end(), probe.spin_us,
                               [](const Knot& k, double value) { return k.spin_us < value; });
  if (knot == knots_.end() || knot->spin_us != probe.spin_us) {
    knots_.insert(knot, Knot{probe.spin_us, base});
  } else {
    knot->base = base;
  }
}

void BaseEstimator::add(std::span<const Probe> probes) {
  for (const Probe& probe : probes) add(probe);
}

bool BaseEstimator::ready() const { return !knots_.empty(); }

size_t BaseEstimator::probes() const {
  size_t count = 0;
  for (const Spin& spin : spins_) count += spin.extra_us.size();
  return count;
}

Base BaseEstimator::at(double duration_us) const {
  WW_CHECK(ready(), "no base without probes");
  if (duration_us <= knots_.front().spin_us) return knots_.front().base;
  const Knot& last = knots_.back();
  if (duration_us >= last.spin_us) {
    if (knots_.size() == 1) return last.base;
    const Knot& before = knots_[knots_.size() - 2];
    const double slope = (last.base.error_us - before.base.error_us) / (last.spin_us - before.spin_us);
    return {last.base.base_us, last.base.error_us + std::max(0.0, slope) * (duration_us - last.spin_us)};
  }
  const auto above = std::upper_bound(knots_.begin(), knots_.end(), duration_us,
                                      [](double value, const Knot& k) { return value < k.spin_us; });
  const Knot &a = *(above - 1), &b = *above;
  const double share = (duration_us - a.spin_us) / (b.spin_us - a.spin_us);
  return {std::lerp(a.base.base_us, b.base.base_us, share), std::lerp(a.base.error_us, b.base.error_us, share)};
}

Base BaseEstimator::for_outer(double outer_us) const { return at(outer_us - at(0).base_us); }

Sample bound_sample(Clocked call, Base base) {
  const double ours = call.outer_us - base.base_us;
  const double claim = std::min(call.inner_us, call.outer_us);
  const double low = std::max({claim, ours - base.error_us, kResolutionUs});
  const double time = std::max(low, ours);
  return {low, time, std::max(low, ours + base.error_us), base.base_us, base.error_us};
}

Sample bound_sample(Clocked call, const BaseEstimator& estimator) {
  return bound_sample(call, estimator.for_outer(call.outer_us));
}

ClockMismatch find_clock_mismatch(std::span<const ClockBlock> blocks, const BaseEstimator& estimator) {
  ClockMismatch mismatch;
  size_t separate = 0;
  std::ptrdiff_t last = -2;
  for (size_t i = 0; i < blocks.size(); i++) {
    if (blocks[i].calls.size() < kFewestCalls) continue;
    std::vector<double> excess, outer;
    for (const Clocked& call : blocks[i].calls) {
      excess.push_back(excess_us(call, estimator));
      outer.push_back(call.outer_us);
    }
    const double lower_quartile = quantile(std::move(excess), 0.25);
    const double error = estimator.for_outer(quantile(std::move(outer), 0.5)).error_us;
    if (lower_quartile <= kMismatchErrors * error + load_us(blocks[i], estimator)) continue;
    mismatch.blocks++;
    if (static_cast<std::ptrdiff_t>(i) > last + 1) {
      separate++;
      last = static_cast<std::ptrdiff_t>(i);
    }
    if (lower_quartile > mismatch.excess_us) {
      mismatch.excess_us = lower_quartile;
      mismatch.error_us = error;
    }
  }
  mismatch.found = separate >= kMismatchBlocks;
  return mismatch;
}

}  // namespace ww::timing
