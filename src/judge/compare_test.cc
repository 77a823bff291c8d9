// SPDX-License-Identifier: Apache-2.0
#include "judge/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "judge/tolerance.h"

namespace ww::judge {
namespace {

using task::DType;
using task::TensorSpec;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <class T>
const std::byte* bytes(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

TensorSpec floats(int64_t count) { return {.name = "out", .dtype = DType::kFloat32, .shape = {count}}; }

Comparison compare_floats(const std::vector<float>& expected, const std::vector<float>& got,
                          Bound bound = {1e-5, 1e-5}) {
  return compare(floats(static_cast<int64_t>(expected.size())), bytes(expected), DType::kFloat32, bytes(got), bound);
}

TEST(Compare, EqualTensorsHaveNoError) {
  const auto result = compare_floats({1, -2, 3}, {1, -2, 3});
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.worst, 0);
}

TEST(Compare, ZerosFailHoweverSmallTheTruthIs) {
  const std::vector<float> tiny(1000, 1e-30f), zeros(1000, 0.f);
  EXPECT_FALSE(compare_floats(tiny, zeros).ok);
}

TEST(Compare, OneWrongElementAmongMillionsIsFoundAndNamed) {
  std::vector<float> expected(1 << 20, 1.f), got = expected;
  got[777'777] = 1.1f;
  const auto result = compare_floats(expected, got);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.wrong, 1u);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->index, 777'777u);
  EXPECT_FLOAT_EQ(static_cast<float>(result.first->got), 1.1f);
}

TEST(Compare, NanIsNeverAWildcard) {
  EXPECT_FALSE(compare_floats({1, 2, 3}, {1, kNan, 3}).ok);
  EXPECT_FALSE(compare_floats({1, 2, 3}, {kNan, kNan, kNan}).ok);
  EXPECT_FALSE(compare_floats({1, 2, 3}, {1, kInf, 3}).ok);
  EXPECT_FALSE(compare_floats({1, kNan, 3}, {1, 2, 3}).ok);
}

TEST(Compare, ANonFiniteExpectationAsksForTheSameOne) {
  EXPECT_TRUE(compare_floats({1, kNan, kInf}, {1, kNan, kInf}).ok);
  EXPECT_FALSE(compare_floats({1, kNan, kInf}, {1, kNan, -kInf}).ok);
}

TEST(Compare, LargeElementsMayRoundRelativelyButSmallOnesOnlyWithinTheOutputsScale) {
  EXPECT_TRUE(compare_floats({1e4f, 1, 1}, {1e4f * (1 + 5e-6f), 1, 1}).ok);
  EXPECT_FALSE(compare_floats({1, 1, 1e-3f}, {1, 1, 2e-3f}).ok);
}

TEST(Compare, ASmallErrorEverywhereBreaksTheRmsBoundAlone) {
  std::vector<float> expected(1000, 1.f), got(1000, 1.00002f);
  const auto result = compare_floats(expected, got, {1e-4, 1e-5});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_TRUE(result.first);
}

TEST(Compare, IntegersAndBoolsAreExact) {
  const TensorSpec spec{.name = "out", .dtype = DType::kInt64, .shape = {3}};
  const std::vector<int64_t> expected{1, 2, (1LL << 60)}, off{1, 2, (1LL << 60) + 1};
  EXPECT_TRUE(compare(spec, bytes(expected), DType::kInt64, bytes(expected), {}).ok);
  EXPECT_FALSE(compare(spec, bytes(expected), DType::kInt64, bytes(off), {1, 1}).ok);
}

TEST(Compare, EmptyTensorsAgree) { EXPECT_TRUE(compare_floats({}, {}).ok); }

TEST(Compare, Bfloat16IsReadAsItsBits) {
  const TensorSpec spec{.name = "out", .dtype = DType::kBfloat16, .shape = {2}};
  const std::vector<uint16_t> got{0x3f80, 0xc000};  // 1, -2
  const std::vector<double> truth{1, -2};
  EXPECT_TRUE(compare(spec, bytes(truth), DType::kFloat64, bytes(got), {1e-9, 1e-9}).ok);
}

TEST(Tolerance, GrowsWithTheReferencesOwnErrorAndWithReductionLength) {
  Tolerance plain(task::Precision::kFp32, {floats(1024)}, {floats(1024)});
  Tolerance reduced(task::Precision::kFp32, {floats(1 << 20)}, {floats(1)});
  EXPECT_LT(plain.against_truth(0).max, reduced.against_truth(0).max);
  const double before = plain.against_truth(0).max;
  plain.calibrate(0, {1e-5, 1e-6});
  EXPECT_GT(plain.against_truth(0).max, before);
  EXPECT_DOUBLE_EQ(plain.against_truth(0).max, 10 * 1e-5);
  EXPECT_DOUBLE_EQ(plain.against_eager(0).max, 11 * 1e-5);
}

TEST(Tolerance, IsANumberWhereTheReferenceMissesAnAllZeroTruth) {
  Tolerance tolerance(task::Precision::kFp32, {floats(16)}, {floats(16)});
  const double infinity = std::numeric_limits<double>::infinity();
  tolerance.calibrate(0, {infinity, infinity});
  EXPECT_EQ(tolerance.against_truth(0).rms, infinity);
}

TEST(Tolerance, RefusesTf32RoundingForAnFp32Contract) {
  const Tolerance tolerance(task::Precision::kFp32, {floats(4096)}, {floats(4096)});
  EXPECT_LT(tolerance.against_truth(0).max, std::ldexp(1, -12));
}

/// Every 16-bit pattern whose value is finite, or every one.
std::vector<uint16_t> patterns(uint16_t exponent_mask, bool all) {
  std::vector<uint16_t> bits;
  for (uint32_t word = 0; word < 65536; word++) {
    if (all || (word & exponent_mask) != exponent_mask) bits.push_back(static_cast<uint16_t>(word));
  }
  return bits;
}

template <class Widen>
void expect_exact(DType dtype, const std::vector<uint16_t>& bits, Widen widen) {
  std::vector<double> expected;
  for (const uint16_t word : bits) expected.push_back(widen(word));
  const TensorSpec spec{.name = "out", .dtype = dtype, .shape = {static_cast<int64_t>(bits.size())}};
  const auto result = compare(spec, bytes(expected), DType::kFloat64, bytes(bits), {0, 0});
  EXPECT_TRUE(result.ok) << (result.first ? bits[result.first->index] : 0);
  EXPECT_EQ(result.error.rms, 0);
}

TEST(Compare, WidensEveryHalfExactly) {
  const auto widen = [](uint16_t word) {
    _Float16 value;
    std::memcpy(&value, &word, sizeof value);
    return static_cast<double>(value);
  };
  for (const bool all : {false, true}) expect_exact(DType::kFloat16, patterns(0x7c00, all), widen);
}

TEST(Compare, WidensEveryBrainFloatExactly) {
  const auto widen = [](uint16_t word) {
    const uint32_t wide = static_cast<uint32_t>(word) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return static_cast<double>(value);
  };
  for (const bool all : {false, true}) expect_exact(DType::kBfloat16, patterns(0x7f80, all), widen);
}

TEST(Compare, LooksAtEveryElementWhateverTheLength) {
  for (const size_t length : {1u, 7u, 8u, 9u, 1023u, 1024u, 1025u, 3000u}) {
    const std::vector<float> expected(length, 1.f);
    for (const size_t place : {size_t{0}, length / 2, length - 1}) {
      auto got = expected;
      got[place] = 1.001f;
      const auto result = compare_floats(expected, got, {1e-4, 1});
      EXPECT_EQ(result.wrong, 1u) << length << " " << place;
      EXPECT_NEAR(compare_floats(expected, got, {1, 1}).error.max, 5e-4, 1e-6) << length << " " << place;
    }
  }
}

}  // namespace
}  // namespace ww::judge
