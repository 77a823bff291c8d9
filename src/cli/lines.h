// SPDX-License-Identifier: Apache-2.0
//
// Lines of a descriptor, as they come. Single-threaded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace ww::cli {

/// A request is a line of JSON with two paths; what is longer is no request.
inline constexpr size_t kLongestLine = 1 << 20;

class Lines {
 public:
  /// `fd` is borrowed.
  explicit Lines(int fd) : fd_(fd) {}

  struct Line {
    std::string text;       ///< without its end (\n or \r\n), or a byte-order mark at the start of the input
    bool too_long = false;  ///< then `text` is empty and the rest of the line was skipped
    bool cut = false;       ///< the input ended within it
  };
  /// nullopt: the input has ended. Throws Fault: it cannot be read, or a request to stop (base/interrupt.h).
  std::optional<Line> next();

 private:
  bool read_more();

  int fd_;
  std::string read_;  ///< of the present line and what follows it
  bool ended_ = false;
  bool first_ = true;
};

}  // namespace ww::cli
