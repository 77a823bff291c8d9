// SPDX-License-Identifier: Apache-2.0
//
// What checking a call costs, beside the least that a check could be: memcmp of the same two buffers. Run:
// ww_compare_perf
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/clock.h"
#include "judge/compare.h"

namespace {

using namespace ww;

constexpr uint64_t kElements = 1 << 20;
constexpr int kPasses = 21;

/// Shortest of several passes, in microseconds.
template <class Body>
double best_us(Body body) {
  nanoseconds best = nanoseconds::max();
  for (int pass = 0; pass < kPasses; pass++) {
    const nanoseconds start = now();
    body();
    best = std::min(best, now() - start);
  }
  return to_us(best);
}

/// `mask` keeps the exponents of random words, and of their squares' sum, below infinity's.
void measure(const char* name, task::DType dtype, uint64_t mask) {
  const task::TensorSpec spec{.name = "out", .dtype = dtype, .shape = {kElements}};
  std::vector<std::byte> expected(spec.bytes());
  std::mt19937_64 random(7);
  for (size_t i = 0; i < expected.size(); i += sizeof(uint64_t)) {
    const uint64_t word = random() & mask;
    std::memcpy(&expected[i], &word, sizeof word);
  }
  const std::vector<std::byte> got = expected;
  bool ok = true;
  const double compare_us = best_us([&] {
    ok &= judge::compare(spec, expected.data(), dtype, got.data(), {1e-6, 1e-6}).ok;
  });
  const double memcmp_us = best_us([&] { ok &= std::memcmp(expected.data(), got.data(), expected.size()) == 0; });
  fmt::print("{:9} {:7.1f} us for {} elements ({:.2f} ns each); memcmp {:7.1f} us; ratio {:.1f}{}\n", name, compare_us,
             kElements, 1e3 * compare_us / static_cast<double>(kElements), memcmp_us, compare_us / memcmp_us,
             ok ? "" : "  WRONG");
}

}  // namespace

int main() {
  measure("float64", ww::task::DType::kFloat64, 0xbfffffffffffffffull & 0xdfffffffffffffffull);
  measure("float32", ww::task::DType::kFloat32, 0xbfffffffbfffffffull);
  measure("float16", ww::task::DType::kFloat16, 0xbfffbfffbfffbfffull);
  measure("bfloat16", ww::task::DType::kBfloat16, 0xbfffbfffbfffbfffull);
  measure("int64", ww::task::DType::kInt64, ~0ull);
}
