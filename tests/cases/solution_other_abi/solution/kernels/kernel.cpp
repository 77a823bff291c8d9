// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>

extern "C" {
extern const int32_t ww_solution_abi __attribute__((visibility("default")));
const int32_t ww_solution_abi = 99;
__attribute__((visibility("default"))) int ww_forward(const void*) { return 0; }
}
