// SPDX-License-Identifier: Apache-2.0
#include "device/memory.h"

#include "base/fault.h"

namespace ww::device {

std::span<std::byte> Arena::span(uint64_t offset, uint64_t count) {
  WW_CHECK(offset <= bytes() && count <= bytes() - offset, "a span beyond its arena");
  return {data() + offset, count};
}

}  // namespace ww::device
