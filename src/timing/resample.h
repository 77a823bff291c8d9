// SPDX-License-Identifier: Apache-2.0
//
// Block resampling of quantiles, fast: values are sorted once, and a draw is a count for each block, so that its
// quantile is a walk along the sorted values up to the rank wanted. docs/statistics.md, section 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ww::timing {

/// Consecutive values split into `blocks` runs of equal length (to within one).
class BlockedValues {
 public:
  /// Requires: 1 <= blocks <= values.size().
  BlockedValues(const std::vector<double>& values, size_t blocks);

  /// Quantile of the multiset in which block b occurs counts[b] times. Requires: one count a block, not all zero.
  double quantile(double q, std::span<const uint16_t> counts) const;

  /// Mean of that multiset's values between two quantiles, values at the ends counted in part; quantile(from) where
  /// from == to. Requires: 0 <= from <= to <= 1.
  double mean_between(double from, double to, std::span<const uint16_t> counts) const;

 private:
  struct Ranked {
    double value;
    uint32_t block;
  };
  size_t total(std::span<const uint16_t> counts) const;

  std::vector<Ranked> ranked_;
  std::vector<size_t> block_sizes_;
};

/// `draws` times as many blocks as there are, with replacement; the same for the same seed.
class BlockDraws {
 public:
  BlockDraws(size_t blocks, size_t draws, uint64_t seed);

  size_t size() const { return draws_; }
  std::span<const uint16_t> counts(size_t draw) const { return {&counts_[draw * blocks_], blocks_}; }
  /// The data as they are.
  std::vector<uint16_t> each_once() const { return std::vector<uint16_t>(blocks_, 1); }

 private:
  size_t blocks_, draws_;
  std::vector<uint16_t> counts_;
};

/// Blocks for so many rounds: of `longest` rounds where that leaves enough blocks, shorter where it does not.
size_t blocks_for(size_t rounds, size_t longest);

/// Resampling few blocks gives intervals that are too narrow: the factor that mends it, Student's t over the normal
/// quantile, and the missing degree of freedom. Requires: blocks >= 2.
double widening_for(size_t blocks);

}  // namespace ww::timing
