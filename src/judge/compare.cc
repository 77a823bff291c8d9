// SPDX-License-Identifier: Apache-2.0
#include "judge/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace ww::judge {
namespace {

using task::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Half {
  uint16_t bits;
  /// In integer steps that vectorise; the compiler's own conversion is a library call on machines of the baseline.
  explicit operator double() const {
    const uint32_t magnitude = (bits & 0x7fffu) << 13;
    const uint32_t special = (bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;  // infinity and NaN
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;          // mends the exponent's bias
    const uint32_t sign = (bits & 0x8000u) << 16;
    return static_cast<double>(std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign));
  }
};

struct Brain {
  uint16_t bits;
  explicit operator double() const {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
  }
};

template <class Element>
double at(const std::byte* data, uint64_t index) {
  Element element;
  std::memcpy(&element, data + index * sizeof(Element), sizeof element);
  return static_cast<double>(element);
}

/// Calls `body` with a value of the element type that stores `dtype`.
template <class Body>
auto with_element(DType dtype, Body body) {
  switch (dtype) {
    case DType::kFloat64:
      return body(double{});
    case DType::kFloat32:
      return body(float{});
    case DType::kFloat16:
      return body(Half{});
    case DType::kBfloat16:
      return body(Brain{});
    case DType::kInt64:
      return body(int64_t{});
    case DType::kInt32:
      return body(int32_t{});
    case DType::kInt16:
      return body(int16_t{});
    case DType::kInt8:
      return body(int8_t{});
    case DType::kUInt8:
    case DType::kBool:
      return body(uint8_t{});
  }
  WW_CHECK(false, "unknown dtype");
  return body(uint8_t{});
}

template <class Expected>
double rms_of(const std::byte* data, uint64_t count) {
  double sum = 0;
  uint64_t finite = 0;
  for (uint64_t i = 0; i < count; i++) {
    const double value = at<Expected>(data, i);
    if (!std::isfinite(value)) continue;
    sum += value * value;
    finite++;
  }
  return finite ? std::sqrt(sum / static_cast<double>(finite)) : 0;
}

double element_error(double expected, double got, double rms) {
  if (!std::isfinite(expected)) {
    const bool same = std::isnan(expected) ? std::isnan(got) : expected == got;
    return same ? 0 : kInfinity;
  }
  if (!std::isfinite(got)) return kInfinity;
  const double difference = std::fabs(got - expected);
  if (difference == 0) return 0;
  const double scale = rms + std::fabs(expected);
  return scale > 0 ? difference / scale : kInfinity;
}

double fraction(double error, double bound) {
  if (error == 0) return 0;
  return bound > 0 ? error / bound : kInfinity;
}

/// Of elements that are all finite. `largest` of the scaled errors; NaN in `finite` where an element was not finite.
struct Sums {
  double truth_squares = 0, error_squares = 0, largest = 0, finite = 0;
};

/// Doubles in a register of the widest kind; on narrower machines the compiler takes several.
using Lanes __attribute__((vector_size(64))) = double;
constexpr size_t kLanes = sizeof(Lanes) / sizeof(double);
constexpr size_t kChunk = 128 * kLanes;  // two chunks fit in any first-level cache

/// Elements of one tensor as doubles; zeros after the last.
struct Chunk {
  Lanes lanes[kChunk / kLanes];
};

// One copy for each vector width; the loader picks. At the baseline's two lanes checking would cost more than the call.
#define WW_FOR_VECTORS __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))

template <class Element>
WW_FOR_VECTORS void widen(const std::byte* data, uint64_t first, size_t count, Chunk& chunk) {
  double wide[kChunk];
  for (size_t i = 0; i < count; i++) wide[i] = at<Element>(data, first + i);
  for (size_t i = count; i < kChunk; i++) wide[i] = 0;
  std::memcpy(&chunk, wide, sizeof wide);
}

WW_FOR_VECTORS double sum_of_squares(const Chunk& chunk) {
  Lanes squares = {};
  for (const Lanes& values : chunk.lanes) squares += values * values;
  double sum = 0;
  for (size_t lane = 0; lane < kLanes; lane++) sum += squares[lane];
  return sum;
}

WW_FOR_VECTORS void add_errors(const Chunk& expected, const Chunk& got, double rms, Sums& sums) {
  Lanes squares = {}, largest = {}, finite = {};
  for (size_t i = 0; i < kChunk / kLanes; i++) {
    const Lanes truth = expected.lanes[i], difference = got.lanes[i] - truth;
    const Lanes size = truth < 0 ? -truth : truth, away = difference < 0 ? -difference : difference;
    const Lanes error = away / (size + rms);
    squares += away * away;
    largest = error > largest ? error : largest;
    finite += 0 * difference;
  }
  for (size_t lane = 0; lane < kLanes; lane++) {
    sums.error_squares += squares[lane];
    sums.largest = std::max(sums.largest, largest[lane]);
    sums.finite += finite[lane];
  }
}

template <class Body>
void for_chunks(uint64_t count, Body body) {
  for (uint64_t first = 0; first < count; first += kChunk) body(first, std::min<uint64_t>(kChunk, count - first));
}

/// The comparison of tensors that are right: every element finite and within the bound. None: look at each element.
template <class Expected, class Got>
std::optional<Comparison> compare_right(const std::byte* expected, const std::byte* got, uint64_t count,
                                        const Bound& bound) {
  Chunk wide_expected, wide_got;
  Sums sums;
  for_chunks(count, [&](uint64_t first, size_t size) {
    widen<Expected>(expected, first, size, wide_expected);
    sums.truth_squares += sum_of_squares(wide_expected);
  });
  const double rms = std::sqrt(sums.truth_squares / static_cast<double>(count));
  if (!(rms > 0 && std::isfinite(rms))) return std::nullopt;
  for_chunks(count, [&](uint64_t first, size_t size) {
    widen<Expected>(expected, first, size, wide_expected);
    widen<Got>(got, first, size, wide_got);
    add_errors(wide_expected, wide_got, rms, sums);
  });
  Comparison result;
  result.error = {sums.largest, std::sqrt(sums.error_squares / static_cast<double>(count)) / rms};
  const bool right = sums.finite == 0 && result.error.max <= bound.max && result.error.rms <= bound.rms;
  if (!right) return std::nullopt;
  result.worst = std::max(fraction(result.error.max, bound.max), fraction(result.error.rms, bound.rms));
  return result;
}

template <class Expected, class Got>
Comparison compare_each(const std::byte* expected, const std::byte* got, uint64_t count, const Bound& bound) {
  const double rms = rms_of<Expected>(expected, count);
  Comparison result;
  double squares = 0, worst = -1;
  uint64_t worst_index = 0, first_wrong = count;
  for (uint64_t i = 0; i < count; i++) {
    const double truth = at<Expected>(expected, i), value = at<Got>(got, i);
    const double error = element_error(truth, value, rms);
    if (error > worst) worst = error, worst_index = i;
    if (error > bound.max && result.wrong++ == 0) first_wrong = i;
    if (std::isfinite(truth)) squares += (value - truth) * (value - truth);
  }
  if (count == 0) return result;
  result.error.max = worst;
  // NaN where a finite element was expected makes this NaN, hence the comparison by negation below.
  const double root = std::sqrt(squares / static_cast<double>(count));
  result.error.rms = root == 0 ? 0 : rms > 0 ? root / rms : kInfinity;
  if (!(result.error.rms <= kInfinity)) result.error.rms = kInfinity;
  result.worst = std::max(fraction(result.error.max, bound.max), fraction(result.error.rms, bound.rms));
  result.ok = result.wrong == 0 && result.error.rms <= bound.rms;
  if (!result.ok) {
    const uint64_t index = result.wrong ? first_wrong : worst_index;
    result.first = Mismatch{index, at<Expected>(expected, index), at<Got>(got, index)};
  }
  return result;
}

Comparison compare_exactly(DType dtype, const std::byte* expected, const std::byte* got, uint64_t count) {
  return with_element(dtype, [&](auto element) {
    using Element = decltype(element);
    Comparison result;
    if (std::memcmp(expected, got, count * sizeof(Element)) == 0) return result;
    for (uint64_t i = 0; i < count; i++) {
      if (std::memcmp(expected + i * sizeof(Element), got + i * sizeof(Element), sizeof(Element)) == 0) continue;
      if (result.wrong++ == 0) result.first = Mismatch{i, at<Element>(expected, i), at<Element>(got, i)};
    }
    result.ok = false;
    result.error = {kInfinity, kInfinity};
    result.worst = kInfinity;
    return result;
  });
}

}  // namespace

Comparison compare(const task::TensorSpec& spec, const std::byte* expected, DType expected_dtype, const std::byte* got,
                   const Bound& bound) {
  const uint64_t count = spec.elements();
  if (!task::is_floating(spec.dtype)) return compare_exactly(spec.dtype, expected, got, count);
  return with_element(expected_dtype, [&](auto truth) {
    return with_element(spec.dtype, [&](auto value) {
      using Truth = decltype(truth);
      using Value = decltype(value);
      const auto right = compare_right<Truth, Value>(expected, got, count, bound);
      return right ? *right : compare_each<Truth, Value>(expected, got, count, bound);
    });
  });
}

}  // namespace ww::judge
