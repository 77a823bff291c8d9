// SPDX-License-Identifier: Apache-2.0
//
// Memory that another process can map: a memfd whose size is sealed, mapped writable here. Movable, not copyable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fd.h"

namespace ww::device {

class SharedMemory {
 public:
  SharedMemory() = default;
  /// Zeroed, sparse (pages cost memory once touched), sealed against shrinking and growing. `bytes` is rounded up to
  /// whole pages and must not be 0. Throws Fault.
  SharedMemory(const char* name, uint64_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  /// From here on nobody can map it writable or write to it through a descriptor; the mapping held here stays
  /// writable. Throws Fault.
  void seal_for_others();

  int fd() const { return fd_.get(); }
  uint64_t bytes() const { return bytes_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  /// Requires: offset + count <= bytes().
  std::span<std::byte> span(uint64_t offset, uint64_t count);

 private:
  Fd fd_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

/// 4096 on the machines we know; read from the system.
uint64_t page_bytes();

}  // namespace ww::device
