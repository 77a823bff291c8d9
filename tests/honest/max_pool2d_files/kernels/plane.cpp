// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

void pool_plane(const Pool& pool, int64_t plane) {
  const float* in = pool.in + plane * pool.height * pool.width;
  float* out = pool.out + plane * pool.out_height * pool.out_width;
  for (int64_t row = 0; row < pool.out_height; ++row)
    for (int64_t col = 0; col < pool.out_width; ++col)
      out[row * pool.out_width + col] = pool_window(pool, in, row, col);
}
