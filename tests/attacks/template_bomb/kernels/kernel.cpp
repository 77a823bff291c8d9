// SPDX-License-Identifier: Apache-2.0
#include <warpwright/solution.h>

template <class A, class B>
struct Pair {};

template <int kDepth>
struct Twice {
  using Type = Pair<typename Twice<kDepth - 1>::Type, typename Twice<kDepth - 1>::Type>;
};
template <>
struct Twice<0> {
  using Type = int;
};

template <class A>
const char* name() {
  return __PRETTY_FUNCTION__;
}

int ww_forward(const ww_call*) { return name<Twice<40>::Type>()[7]; }
