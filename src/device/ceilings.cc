// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <barrier>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fault.h"
#include "device/cpu.h"

namespace ww::device {
namespace {

/// Time of one pass in which every thread runs `work(thread)`, the best of as many as fit into `budget`, at least 3.
/// The best, because a ceiling is what undisturbed hardware does.
nanoseconds best_pass(int threads, nanoseconds budget, const std::function<void(int)>& work) {
  const nanoseconds end = now() + budget;
  nanoseconds best = nanoseconds::max();
  nanoseconds started{};
  int passes = 0;
  bool more = true;
  std::barrier begin(threads, [&]() noexcept { started = now(); });
  std::barrier finish(threads, [&]() noexcept {
    best = std::min(best, now() - started);
    more = ++passes < 3 || now() < end;
  });
  const auto loop = [&](int thread) {
    while (more) {
      begin.arrive_and_wait();
      work(thread);
      finish.arrive_and_wait();
    }
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; thread++) others.emplace_back(loop, thread);
  loop(0);
  return best;
}

double copy_gb_per_s(int threads, nanoseconds budget) {
  constexpr uint64_t kLeast = 32ull << 20, kMost = 256ull << 20;
  const uint64_t bytes = std::clamp(2 * cpu_facts().l3_bytes, kLeast, kMost);
  // Written once, so that no pass pays for page faults.
  std::vector<std::byte> source(bytes, std::byte{1}), target(bytes, std::byte{2});
  const uint64_t part = bytes / static_cast<uint64_t>(threads);
  const nanoseconds best = best_pass(threads, budget, [&](int thread) {
    const uint64_t offset = part * static_cast<uint64_t>(thread);
    std::memcpy(target.data() + offset, source.data() + offset, part);
  });
  return 2.0 * static_cast<double>(part * static_cast<uint64_t>(threads)) / static_cast<double>(best.count());
}

typedef float Lanes __attribute__((vector_size(64)));
constexpr int kLanes = 16;
constexpr int64_t kFmaRounds = 100'000;

/// `kChains` independent chains hide the latency of a multiply-add (4 cycles, two a cycle) and fit the registers.
template <int kChains>
__attribute__((always_inline)) inline float fma_chains(float seed) {
  Lanes chain[kChains];
  for (int i = 0; i < kChains; i++) chain[i] = Lanes{} + seed + static_cast<float>(i);
  const Lanes factor = Lanes{} + (1.0f - seed), term = Lanes{} + seed;
  for (int64_t round = 0; round < kFmaRounds; round++) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; i++) chain[i] = chain[i] * factor + term;
  }
  Lanes sum{};
  for (int i = 0; i < kChains; i++) sum += chain[i];
  return sum[0];
}

constexpr int kWideChains = 12;
constexpr int kNarrowChains = 6;

__attribute__((target("avx512f"))) float fma_avx512(float seed) { return fma_chains<kWideChains>(seed); }
__attribute__((target("avx2,fma"))) float fma_avx2(float seed) { return fma_chains<kNarrowChains>(seed); }
float fma_plain(float seed) { return fma_chains<kNarrowChains>(seed); }

double fma_gflop_per_s(int threads, nanoseconds budget) {
  const bool wide = __builtin_cpu_supports("avx512f");
  const auto kernel =
      wide ? fma_avx512 : (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? fma_avx2 : fma_plain);
  std::vector<float> sums(static_cast<size_t>(threads));
  volatile float seed = 0.5f;
  const nanoseconds best =
      best_pass(threads, budget, [&](int thread) { sums[static_cast<size_t>(thread)] = kernel(seed); });
  const double operations = 2.0 * kLanes * (wide ? kWideChains : kNarrowChains) * static_cast<double>(kFmaRounds);
  return operations * threads / static_cast<double>(best.count());
}

}  // namespace

Ceilings measure_ceilings(int threads) {
  WW_CHECK(threads >= 1, "ceilings need a thread");
  const nanoseconds half{static_cast<int64_t>(kCeilingSeconds * 1e9 / 2)};
  return {copy_gb_per_s(threads, half), fma_gflop_per_s(threads, half)};
}

}  // namespace ww::device
