// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "pool.h"

float pool_window(const Pool& pool, const float* plane, int64_t row, int64_t col) {
  float best = -INFINITY;
  for (int64_t i = row * pool.stride - pool.padding, to = i + pool.kernel; i < to; ++i) {
    if (i < 0 || i >= pool.height) continue;
    for (int64_t j = col * pool.stride - pool.padding, end = j + pool.kernel; j < end; ++j)
      if (j >= 0 && j < pool.width) best = fmaxf(best, plane[i * pool.width + j]);
  }
  return best;
}
