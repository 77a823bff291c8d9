// SPDX-License-Identifier: Apache-2.0
//
// Memory that is written and flushed before a clock twin's spin, as buffers are before a call. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ww::judge {

class Ballast {
 public:
  /// Writes `bytes` bytes and drops them from the caches.
  void stage(uint64_t bytes);

 private:
  std::vector<std::byte> memory_;
  unsigned char value_ = 0;
};

}  // namespace ww::judge
