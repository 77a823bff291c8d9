// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "device/cpu.h"
#include "device/shared_memory.h"

namespace ww::device {
namespace {

TEST(SharedMemory, IsZeroedAndRoundedUpToWholePages) {
  SharedMemory memory("test", page_bytes() + 1);
  EXPECT_EQ(memory.bytes(), 2 * page_bytes());
  for (const std::byte b : memory.span(0, memory.bytes())) ASSERT_EQ(b, std::byte{0});
}

TEST(SharedMemory, CannotShrinkOrGrow) {
  SharedMemory memory("test", 3 * page_bytes());
  EXPECT_EQ(::ftruncate(memory.fd(), static_cast<off_t>(page_bytes())), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(memory.fd(), static_cast<off_t>(9 * page_bytes())), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemory, OthersMapItWritableUntilItIsSealedForThem) {
  SharedMemory memory("test", page_bytes());
  void* before = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd(), 0);
  ASSERT_NE(before, MAP_FAILED);
  ::munmap(before, page_bytes());
  memory.seal_for_others();
  EXPECT_EQ(::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd(), 0), MAP_FAILED);
  EXPECT_EQ(::pwrite(memory.fd(), "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemory, AReadOnlyMappingOfSealedMemoryFollowsTheOwnerAndCannotBeMadeWritable) {
  SharedMemory memory("test", page_bytes());
  memory.seal_for_others();
  void* other = ::mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, memory.fd(), 0);
  ASSERT_NE(other, MAP_FAILED);
  memory.data()[7] = std::byte{42};
  EXPECT_EQ(static_cast<std::byte*>(other)[7], std::byte{42});
  EXPECT_EQ(::mprotect(other, page_bytes(), PROT_READ | PROT_WRITE), -1);
  EXPECT_EQ(errno, EACCES);
  ::munmap(other, page_bytes());
}

TEST(SharedMemory, MovingLeavesNothingBehind) {
  SharedMemory first("test", page_bytes());
  std::byte* data = first.data();
  SharedMemory second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);
  first = std::move(second);
  EXPECT_EQ(first.data(), data);
}

TEST(CpuFacts, AreTheSameAtEveryReadingAndNameTheDevice) {
  const CpuFacts& facts = cpu_facts();
  EXPECT_EQ(&facts, &cpu_facts());
  EXPECT_EQ(facts.id.size(), 16u);
  EXPECT_EQ(facts.id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_GE(facts.cores, 1);
  EXPECT_LE(facts.cores, ::sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_GT(facts.memory_bytes, 1ull << 28);
}

TEST(FlushCaches, KeepsContentsOfUnalignedEmptyAndLargeRegions) {
  std::vector<std::byte> bytes(1 << 20);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<std::byte>(i * 7);
  const std::vector<std::byte> copy = bytes;
  const std::span<const std::byte> all(bytes);
  const std::vector<std::span<const std::byte>> regions = {all.subspan(3, 5), all.subspan(0, 0), all, {}};
  flush_caches(regions);
  EXPECT_EQ(bytes, copy);
}

TEST(Ceilings, ArePlausibleForHardwareThatExists) {
  const Ceilings ceilings = measure_ceilings(1);
  EXPECT_GT(ceilings.copy_gb_per_s, 0.1);
  EXPECT_LT(ceilings.copy_gb_per_s, 2000);
  EXPECT_GT(ceilings.fma_gflop_per_s, 0.5);
  EXPECT_LT(ceilings.fma_gflop_per_s, 1000);
}

}  // namespace
}  // namespace ww::device
