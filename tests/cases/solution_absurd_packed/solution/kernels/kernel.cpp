// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>
#include <warpwright/solution.h>

uint64_t ww_packed_bytes(const ww_call*) { return ~0ull; }

int ww_forward(const ww_call*) { return WW_OK; }
