// SPDX-License-Identifier: Apache-2.0
#include <warpwright/solution.h>

template <int kDepth, unsigned long kPath>
struct Bomb {
  static constexpr unsigned long kValue = Bomb<kDepth - 1, kPath * 2>::kValue + Bomb<kDepth - 1, kPath * 2 + 1>::kValue;
};
template <unsigned long kPath>
struct Bomb<0, kPath> {
  static constexpr unsigned long kValue = kPath;
};

int ww_forward(const ww_call*) { return (int)(Bomb<40, 1>::kValue & 1); }
