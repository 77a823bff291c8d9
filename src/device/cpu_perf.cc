// SPDX-License-Identifier: Apache-2.0
//
// What this machine reaches, and what flushing costs beside copying the same bytes. Run: ww_device_perf
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/clock.h"
#include "device/cpu.h"
#include "device/shared_memory.h"

int main() {
  using namespace ww;
  const auto& facts = device::cpu_facts();
  std::printf("%s, %d cores, %s, L2 %llu KiB, L3 %llu KiB, id %s\n", facts.model.c_str(), facts.cores,
              facts.vector_level.c_str(), static_cast<unsigned long long>(facts.l2_bytes >> 10),
              static_cast<unsigned long long>(facts.l3_bytes >> 10), facts.id.c_str());
  for (int threads = 1; threads <= facts.cores; threads *= 2) {
    const auto ceilings = device::measure_ceilings(threads);
    std::printf("%2d threads   copy %7.1f GB/s   fp32 multiply-add %8.1f GFLOP/s\n", threads, ceilings.copy_gb_per_s,
                ceilings.fma_gflop_per_s);
  }
  for (const uint64_t bytes : {64ull << 10, 4ull << 20, 64ull << 20}) {
    device::SharedMemory memory("perf", bytes);
    std::vector<std::byte> source(bytes, std::byte{3});
    nanoseconds copy = nanoseconds::max(), flush = nanoseconds::max(), clean = nanoseconds::max();
    for (int pass = 0; pass < 10; pass++) {
      const std::span<const std::byte> region = memory.span(0, bytes);
      const nanoseconds start = now();
      std::memcpy(memory.data(), source.data(), bytes);
      const nanoseconds copied = now();
      device::flush_caches({&region, 1});
      const nanoseconds flushed = now();
      device::flush_caches({&region, 1});
      clean = std::min(clean, now() - flushed);
      copy = std::min(copy, copied - start);
      flush = std::min(flush, flushed - copied);
    }
    std::printf("%8llu KiB   copy %9.1f us   flush after it %9.1f us   flush again %9.1f us\n",
                static_cast<unsigned long long>(bytes >> 10), to_us(copy), to_us(flush), to_us(clean));
  }
}
