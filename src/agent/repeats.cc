// SPDX-License-Identifier: Apache-2.0
#include "agent/repeats.h"

#include <algorithm>

namespace ww::agent {
namespace {

constexpr size_t kLongestRound = 4;

}  // namespace

void Repeats::add(uint64_t turn) {
  turns_.push_back(turn);
  if (turns_.size() > kLongestRound * (kEnd + 1)) turns_.pop_front();
  rounds_ = 1;
  for (size_t period = 1; period <= kLongestRound; period++) {
    size_t same = 0;
    for (size_t i = turns_.size(); i > period && turns_[i - 1] == turns_[i - 1 - period]; i--) same++;
    rounds_ = std::max(rounds_, static_cast<int>(same / period) + 1);
  }
}

}  // namespace ww::agent
