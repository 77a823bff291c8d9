// SPDX-License-Identifier: Apache-2.0
//
// Tensor memory of a device that another process can map, and the work that the judge does on it: the seam between
// device `cpu` and device `cuda:N`. On cpu an address can be touched; on CUDA it is a device address of this process,
// for the operations of Memory alone. Operations are queued in the order they were asked for and end at finish();
// those that return a figure wait themselves. Not thread-safe. Throws Fault for what is ours or the machine's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"

namespace ww::device {

/// Memory that the process which is given `fd` can map: a sealed memfd, or an exported CUDA allocation.
class Arena {
 public:
  virtual ~Arena() = default;
  virtual int fd() const = 0;
  virtual uint64_t bytes() const = 0;  ///< at least what was asked for
  virtual std::byte* data() = 0;
  /// Requires: offset + count <= bytes().
  std::span<std::byte> span(uint64_t offset, uint64_t count);
};

enum class Element { kFloat64, kFloat32, kFloat16, kBfloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool };

/// One tensor's data, contiguous.
struct Elements {
  const std::byte* data;
  Element type;
};

/// Of two tensors; the error of an element is as in judge/compare.h.
struct Difference {
  double max = 0;                ///< largest error of an element; infinite where only one of the two is finite
  double rms = 0;                ///< root mean square of (got - expected), over the rms of the expected finite elements
  uint64_t wrong = 0;            ///< elements whose error is over the bound that was asked about
  uint64_t index = 0;            ///< row-major: of the first of them, else of the worst element
  double expected = 0, got = 0;  ///< at `index`
};

/// What the judge's own work between two calls of finish() took.
struct Finished {
  nanoseconds wall{};    ///< from the first operation to the end of the last, as this process saw it
  nanoseconds device{};  ///< the device's own account of the same; equals `wall` on cpu
};

class Memory {
 public:
  virtual ~Memory() = default;

  /// Fresh zeroed memory. `bytes` must not be 0.
  virtual std::unique_ptr<Arena> share(const char* name, uint64_t bytes) = 0;
  /// Bytes of a page of an arena: what can be protected, or mapped, by itself (CUDA: 2 MiB).
  virtual uint64_t page_bytes() const = 0;

  /// Spans of arenas of this device. Requires: equal sizes.
  virtual void copy(std::span<std::byte> to, std::span<const std::byte> from) = 0;
  /// From and to ordinary memory of this process; the call returns when `host` may be reused, or holds the data.
  virtual void upload(std::span<std::byte> to, const std::byte* host) = 0;
  virtual void download(std::byte* host, std::span<const std::byte> from) = 0;
  /// Repeats the eight bytes of `word`, little-endian, from the start of the span; the last copy may be cut.
  virtual void fill(std::span<std::byte> to, uint64_t word) = 0;
  /// Canaries: bytes that depend on salt and on the place from the start of the span, and how many are no longer so.
  virtual void paint(std::span<std::byte> to, uint64_t salt) = 0;
  virtual uint64_t repainted(std::span<const std::byte> of, uint64_t salt) = 0;
  /// How many bytes differ. Requires: equal sizes.
  virtual uint64_t differing(std::span<const std::byte> a, std::span<const std::byte> b) = 0;
  /// `max_bound` is for Difference::wrong. Integers are exact: their error is 0 or infinite.
  virtual Difference difference(const Elements& expected, const Elements& got, uint64_t count, double max_bound) = 0;

  /// Leaves no byte of the regions in a cache (CUDA: the whole L2).
  virtual void flush(std::span<const std::span<const std::byte>> regions) = 0;
  /// Waits for all that was queued.
  virtual Finished finish() = 0;
  /// Wall time of an empty launch of ours, from asking to its end: while another process keeps the device busy it is
  /// some hundred times what it is on an idle one. Zero on cpu.
  virtual nanoseconds empty_launch() = 0;
};

}  // namespace ww::device
