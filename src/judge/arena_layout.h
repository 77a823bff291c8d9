// SPDX-License-Identifier: Apache-2.0
//
// Where buffers lie in an arena: each in pages of its own, ending less than 256 bytes before a guard page.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/runner/wire.h"

namespace ww::judge {

inline constexpr uint64_t kBufferAlignment = 256;

uint64_t round_up(uint64_t value, uint64_t unit);

class ArenaLayout {
 public:
  /// The first `head_bytes` are not for buffers.
  explicit ArenaLayout(uint64_t head_bytes);

  /// The offset of a buffer of `bytes` (0 is allowed); the end of its pages is end_of_pages().
  uint64_t add(uint64_t bytes);
  uint64_t end_of_pages() const { return end_; }
  /// Appends the last guard; the arena's size.
  uint64_t close();
  const std::vector<wire::Guard>& guards() const { return guards_; }

 private:
  void add_guard();

  uint64_t end_;
  std::vector<wire::Guard> guards_;
};

}  // namespace ww::judge
