// SPDX-License-Identifier: Apache-2.0
//
// Device `cpu`: what it is, what it can do at best, and how to empty its caches. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace ww::device {

struct CpuFacts {
  std::string model;         ///< "AMD EPYC"; "unknown" if the machine does not say
  std::string vector_level;  ///< "AVX-512", "AVX2", "AVX", "SSE2"
  std::string microcode;     ///< "" if the machine does not say
  int cores = 0;             ///< that this process may use (its affinity)
  uint64_t l1d_bytes = 0;    ///< 0 where unknown
  uint64_t l2_bytes = 0;
  uint64_t l3_bytes = 0;
  uint64_t memory_bytes = 0;  ///< of the machine
  std::string id;             ///< 16 hexadecimal digits: model, microcode, vector level, cores; stable across processes
};

/// Read once per process. Throws Fault where /proc is unreadable.
const CpuFacts& cpu_facts();
Json to_json(const CpuFacts& facts);

/// Writes back and drops every cache line of the regions, in all cores; returns when that is done (mfence).
void flush_caches(std::span<const std::span<const std::byte>> regions);

/// What the device reaches at best, for speed-of-light bounds. Takes about `kCeilingSeconds`; callers keep the result.
struct Ceilings {
  double copy_gb_per_s = 0;    ///< bytes read plus bytes written, out of cache
  double fma_gflop_per_s = 0;  ///< fp32, one fused multiply-add counts two
};
inline constexpr double kCeilingSeconds = 0.3;
/// Requires: threads >= 1.
Ceilings measure_ceilings(int threads);

}  // namespace ww::device
