// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

extern "C" __attribute__((visibility("default"))) extern const int32_t ww_solution_abi = 99;
extern "C" __attribute__((visibility("default"))) int ww_forward(const void*) { return 0; }
