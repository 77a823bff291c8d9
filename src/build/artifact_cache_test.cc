// SPDX-License-Identifier: Apache-2.0
#include "build/artifact_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/files.h"

namespace ww::build {
namespace {

constexpr uint64_t kShards = 256;
constexpr uint64_t kLibraryBytes = 40'000;

/// All in one shard, so that its share of the limit is what counts.
std::string id_of(int number) { return "ab" + std::string(59, '0') + std::to_string(100 + number); }

class ArtifactCacheTest : public ::testing::Test {
 protected:
  ArtifactCache cache(uint64_t shard_limit_bytes) const { return {root_.path(), kShards * shard_limit_bytes}; }

  void store(const ArtifactCache& cache, int number) const {
    cache.store(id_of(number), std::string(kLibraryBytes, static_cast<char>('a' + number)), {}, 1);
  }

  /// As if the entry had last been used so many hours ago.
  void age(int number, int hours) const {
    fs::last_write_time(root_.path() / "ab" / id_of(number) / "entry.json",
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  std::string kept(const ArtifactCache& cache, int count) const {
    std::string numbers;
    for (int i = 0; i < count; i++) {
      if (cache.find(id_of(i))) numbers += std::to_string(i);
    }
    return numbers;
  }

  TemporaryFolder root_{"ww-cache-test"};
};

TEST_F(ArtifactCacheTest, WhatWasNotUsedForLongestGoesFirst) {
  const ArtifactCache cached = cache(3 * kLibraryBytes + 30'000);
  for (int i = 0; i < 3; i++) store(cached, i);
  age(0, 3);
  age(1, 5);
  age(2, 4);
  store(cached, 3);
  EXPECT_EQ(kept(cached, 4), "023");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_.path() / "aside"), {}), 0);
}

TEST_F(ArtifactCacheTest, BeingFoundIsAUse) {
  const ArtifactCache cached = cache(3 * kLibraryBytes + 30'000);
  for (int i = 0; i < 3; i++) {
    store(cached, i);
    age(i, 9 - i);
  }
  ASSERT_TRUE(cached.find(id_of(0)));
  store(cached, 3);
  EXPECT_EQ(kept(cached, 4), "023");
}

TEST_F(ArtifactCacheTest, WhatWasUsedAMomentAgoStaysWhateverTheLimit) {
  const ArtifactCache cached = cache(0);
  for (int i = 0; i < 4; i++) store(cached, i);
  EXPECT_EQ(kept(cached, 4), "0123");
}

TEST_F(ArtifactCacheTest, MeasuresWhatItHolds) {
  const ArtifactCache cached = cache(1 << 30);
  EXPECT_EQ(measure_cache(root_.path()).entries, 0u);
  for (int i = 0; i < 3; i++) store(cached, i);
  EXPECT_EQ(measure_cache(root_.path()).entries, 3u);
  EXPECT_GE(measure_cache(root_.path()).bytes, 3 * kLibraryBytes);
  EXPECT_LT(measure_cache(root_.path()).bytes, 4 * kLibraryBytes);
}

/// Stores and finds until it is killed; ends with 1 where it found something that was not stored so.
[[noreturn]] void use_until_killed(const ArtifactCache& cached, int first) {
  for (int i = first;; i++) {
    const std::string library(kLibraryBytes, static_cast<char>('a' + i % 8));
    cached.store(id_of(i % 8), library, {}, 1);
    const auto found = cached.find(id_of((i + 3) % 8));
    if (found && found->bytes != kLibraryBytes) ::_exit(1);
  }
}

TEST_F(ArtifactCacheTest, ProcessesThatShareItAndAreKilledLeaveOnlyWholeEntries) {
  const ArtifactCache cached = cache(2 * kLibraryBytes);
  for (int round = 0; round < 5; round++) {
    std::vector<pid_t> users;
    for (int i = 0; i < 3; i++) {
      users.push_back(::fork());
      if (users.back() == 0) use_until_killed(cached, i);
    }
    for (int i = 0; i < 20; i++) {
      std::error_code gone;
      for (const auto& each : fs::directory_iterator(root_.path() / "ab", gone)) {
        // Always old enough to go, so that stores, finds and evictions meet.
        fs::last_write_time(each.path() / "entry.json", fs::file_time_type::clock::now() - std::chrono::hours(1), gone);
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
    for (const pid_t user : users) {
      ::kill(user, SIGKILL);
      int status = 0;
      ASSERT_EQ(::waitpid(user, &status, 0), user);
      EXPECT_TRUE(WIFSIGNALED(status));
    }
    for (int i = 0; i < 8; i++) {
      if (!fs::exists(root_.path() / "ab" / id_of(i))) continue;
      const auto found = cached.find(id_of(i));
      ASSERT_TRUE(found) << i;
      EXPECT_EQ(*read_file(found->path), std::string(kLibraryBytes, static_cast<char>('a' + i)));
    }
  }
}

}  // namespace
}  // namespace ww::build
