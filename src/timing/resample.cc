// SPDX-License-Identifier: Apache-2.0
#include "timing/resample.h"

#include <algorithm>
#include <cmath>

#include "base/fault.h"

namespace ww::timing {
namespace {

/// Fewer blocks than this and the resampled spread is itself a matter of luck.
constexpr size_t kEnoughBlocks = 12;

/// SplitMix64: the standard library's distributions differ between implementations, and figures must not.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}

  /// Uniform in [0, bound), by multiplication: bias below 2^-32 for these bounds.
  uint64_t below(uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return ((z ^ (z >> 31)) >> 32) * bound >> 32;
  }

 private:
  uint64_t state_;
};

}  // namespace

BlockedValues::BlockedValues(const std::vector<double>& values, size_t blocks) : block_sizes_(blocks) {
  WW_CHECK(blocks >= 1 && blocks <= values.size(), "blocks of at least one value");
  ranked_.reserve(values.size());
  for (size_t i = 0; i < values.size(); i++) {
    const size_t block = i * blocks / values.size();
    ranked_.push_back({values[i], static_cast<uint32_t>(block)});
    block_sizes_[block]++;
  }
  std::sort(ranked_.begin(), ranked_.end(), [](const Ranked& a, const Ranked& b) { return a.value < b.value; });
}

size_t BlockedValues::total(std::span<const uint16_t> counts) const {
  size_t total = 0;
  for (size_t b = 0; b < block_sizes_.size(); b++) total += counts[b] * block_sizes_[b];
  WW_CHECK(total > 0, "a draw holds something");
  return total;
}

double BlockedValues::mean_between(double from, double to, std::span<const uint16_t> counts) const {
  if (from == to) return quantile(from, counts);
  const double count = static_cast<double>(total(counts));
  const double first = from * count, last = to * count;
  double sum = 0, seen = 0;
  for (size_t i = 0; i < ranked_.size() && seen < last; i++) {
    const double end = seen + counts[ranked_[i].block];
    sum += ranked_[i].value * std::max(0.0, std::min(end, last) - std::max(seen, first));
    seen = end;
  }
  return sum / (last - first);
}

double BlockedValues::quantile(double q, std::span<const uint16_t> counts) const {
  const size_t total = this->total(counts);
  const double position = q * static_cast<double>(total - 1);
  const auto rank = static_cast<size_t>(position);
  size_t seen = 0, i = 0;
  while ((seen += counts[ranked_[i].block]) <= rank) i++;
  const double value = ranked_[i].value;
  if (seen > rank + 1 || rank + 1 == total) return value;
  for (i++; counts[ranked_[i].block] == 0;) i++;
  return std::lerp(value, ranked_[i].value, position - static_cast<double>(rank));
}

BlockDraws::BlockDraws(size_t blocks, size_t draws, uint64_t seed)
    : blocks_(blocks), draws_(draws), counts_(blocks * draws) {
  Generator generator(seed);
  for (size_t draw = 0; draw < draws; draw++) {
    for (size_t i = 0; i < blocks; i++) counts_[draw * blocks + generator.below(blocks)]++;
  }
}

size_t blocks_for(size_t rounds, size_t longest) {
  return rounds / std::clamp<size_t>(rounds / kEnoughBlocks, 1, longest);
}

double widening_for(size_t blocks) {
  WW_CHECK(blocks >= 2, "scatter needs two blocks");
  constexpr double z = 1.959964;
  const double v = static_cast<double>(blocks - 1);
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  // Expansion of Student's t quantile in 1/v (Abramowitz and Stegun 26.7.5): within 1 % from v = 3 on.
  const double t = z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
                   (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
  return t / z * std::sqrt((v + 1) / v);
}

}  // namespace ww::timing
