// SPDX-License-Identifier: Apache-2.0
//
// Sees where a model goes in circles: the same turns with the same results, one after the other or a few in turn.
#pragma once

#include <cstdint>
#include <deque>

namespace ww::agent {

class Repeats {
 public:
  static constexpr int kTell = 3;  ///< rounds of the same after which a model is told
  static constexpr int kEnd = 6;   ///< and after which it is given up

  /// `turn`: a hash over what was asked and what came of it.
  void add(uint64_t turn);
  /// How many times in a row the last one to four turns were the same, the first time included.
  int rounds() const { return rounds_; }

 private:
  std::deque<uint64_t> turns_;
  int rounds_ = 0;
};

}  // namespace ww::agent
