// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

struct Pool {
  const float* in;
  float* out;
  int64_t planes, height, width, out_height, out_width, kernel, stride, padding;
};

void pool_plane(const Pool& pool, int64_t plane);
float pool_window(const Pool& pool, const float* plane, int64_t row, int64_t col);
