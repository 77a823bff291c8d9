// SPDX-License-Identifier: Apache-2.0
#include <warpwright/solution.h>

#include <utility>

template <unsigned long... kNumbers>
unsigned long sum(std::integer_sequence<unsigned long, kNumbers...>) {
  return (kNumbers + ... + 0);
}

int ww_forward(const ww_call*) { return (int)(sum(std::make_integer_sequence<unsigned long, 100'000'000>()) & 1); }
