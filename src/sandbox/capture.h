// SPDX-License-Identifier: Apache-2.0
//
// What a program writes to one stream: the first bytes are kept, the rest is read and dropped. Internal to sandbox/.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"

namespace ww::sandbox {

class Capture {
 public:
  Capture() = default;
  /// Throws Fault.
  explicit Capture(uint64_t limit_bytes);

  /// The program's end; closed by close_writer() once it has been handed over.
  int writer() const { return pipe_.write.get(); }
  void close_writer() { pipe_.write.reset(); }
  /// To poll; -1 once the stream ended.
  int reader() const { return pipe_.read.get(); }

  /// Reads at most one block, never waits. False if there was nothing.
  bool drain();
  /// Reads what lies in the pipe, at most a few pipes full.
  void drain_rest();

  std::string take() { return std::move(text_); }
  bool cut() const { return cut_; }

 private:
  Pipe pipe_;
  uint64_t limit_bytes_ = 0;
  std::string text_;
  bool cut_ = false;
};

}  // namespace ww::sandbox
