// SPDX-License-Identifier: Apache-2.0
#include "device/cpu.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/fault.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"

namespace ww::device {
namespace {

/// The value of "key : value" in the first processor's part of /proc/cpuinfo; "" if absent.
std::string cpuinfo_value(const std::string& text, const std::string& key) {
  size_t line = 0;
  while (line < text.size()) {
    const size_t end = std::min(text.find('\n', line), text.size());
    const size_t colon = text.find(':', line);
    if (text.compare(line, key.size(), key) == 0 && colon < end) {
      const size_t first = text.find_first_not_of(" \t", colon + 1);
      return first < end ? text.substr(first, end - first) : std::string();
    }
    line = end + 1;
  }
  return {};
}

/// __builtin_cpu_supports asks the operating system's part too (XCR0).
std::string vector_level() {
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  if (__builtin_cpu_supports("avx")) return "AVX";
  return "SSE2";
}

int usable_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    // More processors than cpu_set_t holds.
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  return CPU_COUNT(&set);
}

std::string first_word(const std::string& path) {
  const auto text = read_file(path);
  return text ? text->substr(0, text->find_first_of(" \n")) : std::string();
}

/// Of the first processor, as the kernel says; sysconf was seen to add up the third level over all cores of the host.
uint64_t cache_bytes(const std::string& level) {
  for (int index = 0; index < 8; index++) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (first_word(folder + "level") != level || first_word(folder + "type") == "Instruction") continue;
    const std::string size = first_word(folder + "size");  // "32K"
    uint64_t bytes = std::strtoull(size.c_str(), nullptr, 10);
    if (size.ends_with('K')) bytes <<= 10;
    if (size.ends_with('M')) bytes <<= 20;
    return bytes;
  }
  return 0;
}

uint64_t system_value(int name) {
  const long value = ::sysconf(name);
  return value > 0 ? static_cast<uint64_t>(value) : 0;
}

CpuFacts read_facts() {
  const auto text = read_file("/proc/cpuinfo");
  if (!text) throw Fault(Fault::Kind::kSystem, "cannot read /proc/cpuinfo: " + text.error().text());
  CpuFacts facts;
  facts.model = cpuinfo_value(*text, "model name");
  if (facts.model.empty()) facts.model = "unknown";
  facts.microcode = cpuinfo_value(*text, "microcode");
  facts.vector_level = vector_level();
  facts.cores = usable_cores();
  facts.l1d_bytes = cache_bytes("1");
  facts.l2_bytes = cache_bytes("2");
  facts.l3_bytes = cache_bytes("3");
  facts.memory_bytes = system_value(_SC_PHYS_PAGES) * system_value(_SC_PAGESIZE);
  ContentHash hash;
  hash.add(facts.model).add(facts.microcode).add(facts.vector_level).add(std::to_string(facts.cores));
  facts.id = hash.hex().substr(0, 16);
  return facts;
}

struct FlushUnit {
  uintptr_t line_bytes;
  bool optimised;  ///< clflushopt, which is not ordered against other flushes
};

FlushUnit flush_unit() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  WW_CHECK(__get_cpuid(1, &eax, &ebx, &ecx, &edx), "a processor without cpuid leaf 1");
  const uintptr_t line_bytes = ((ebx >> 8) & 0xff) * 8;
  const bool optimised = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_CLFLUSHOPT);
  return {line_bytes, optimised};
}

__attribute__((target("clflushopt"))) void flush_optimised(uintptr_t from, uintptr_t to, uintptr_t step) {
  for (uintptr_t line = from; line < to; line += step) _mm_clflushopt(reinterpret_cast<void*>(line));
}

void flush_plain(uintptr_t from, uintptr_t to, uintptr_t step) {
  for (uintptr_t line = from; line < to; line += step) _mm_clflush(reinterpret_cast<void*>(line));
}

}  // namespace

const CpuFacts& cpu_facts() {
  static const CpuFacts facts = read_facts();
  return facts;
}

Json to_json(const CpuFacts& facts) {
  return Json{{"model", facts.model},       {"vector_level", facts.vector_level}, {"microcode", facts.microcode},
              {"cores", facts.cores},       {"l1d_bytes", facts.l1d_bytes},       {"l2_bytes", facts.l2_bytes},
              {"l3_bytes", facts.l3_bytes}, {"memory_bytes", facts.memory_bytes}, {"id", facts.id}};
}

void flush_caches(std::span<const std::span<const std::byte>> regions) {
  static const FlushUnit unit = flush_unit();
  _mm_mfence();
  for (const auto& region : regions) {
    if (region.empty()) continue;
    const uintptr_t from = reinterpret_cast<uintptr_t>(region.data()) & ~(unit.line_bytes - 1);
    const uintptr_t to = reinterpret_cast<uintptr_t>(region.data() + region.size());
    if (unit.optimised) {
      flush_optimised(from, to, unit.line_bytes);
    } else {
      flush_plain(from, to, unit.line_bytes);
    }
  }
  _mm_mfence();
}

}  // namespace ww::device
