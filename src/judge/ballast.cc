// SPDX-License-Identifier: Apache-2.0
#include "judge/ballast.h"

#include <cstring>
#include <span>

#include "device/cpu.h"

namespace ww::judge {

void Ballast::stage(uint64_t bytes) {
  if (bytes == 0) return;
  if (memory_.size() < bytes) memory_.resize(bytes);
  const std::span<std::byte> staged(memory_.data(), bytes);
  std::memset(staged.data(), ++value_, staged.size());
  const std::span<const std::byte> flushed = staged;
  device::flush_caches({&flushed, 1});
}

}  // namespace ww::judge
