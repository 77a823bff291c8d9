// SPDX-License-Identifier: Apache-2.0
#include "judge/arena_layout.h"

#include <algorithm>

#include "device/shared_memory.h"

namespace ww::judge {

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

ArenaLayout::ArenaLayout(uint64_t head_bytes) : end_(round_up(head_bytes, device::page_bytes())) {}

void ArenaLayout::add_guard() {
  guards_.push_back({end_, device::page_bytes()});
  end_ += device::page_bytes();
}

uint64_t ArenaLayout::add(uint64_t bytes) {
  add_guard();
  const uint64_t room = round_up(std::max<uint64_t>(bytes, 1), kBufferAlignment);
  end_ += round_up(room, device::page_bytes());
  return end_ - room;
}

uint64_t ArenaLayout::close() {
  add_guard();
  return end_;
}

}  // namespace ww::judge
