// SPDX-License-Identifier: Apache-2.0
#include "judge/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ww::judge {
namespace {

using task::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Half {
  uint16_t bits;
  explicit operator double() const {
    _Float16 value;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<double>(static_cast<float>(value));
  }
};

struct Brain {
  uint16_t bits;
  explicit operator double() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return static_cast<double>(value);
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

template <class Expected, class Got>
Comparison compare_floating(const std::byte* expected, const std::byte* got, uint64_t count, const Bound& bound) {
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
      return compare_floating<decltype(truth), decltype(value)>(expected, got, count, bound);
    });
  });
}

}  // namespace ww::judge
