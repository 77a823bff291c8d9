// SPDX-License-Identifier: Apache-2.0
#include <warpwright/solution.h>

#include "pool.h"

static int64_t number(const ww_call* call, int index) { return *(const int64_t*)call->init.items[index]->data; }

int ww_forward(const ww_call* call) {
  const DLTensor *x = call->inputs.items[0], *y = call->outputs.items[0];
  const Pool pool{(const float*)x->data, (float*)y->data, x->shape[0] * x->shape[1], x->shape[2],     x->shape[3],
                  y->shape[2],           y->shape[3],     number(call, 0),           number(call, 1), number(call, 2)};
#pragma omp parallel for num_threads(call->threads)
  for (int64_t plane = 0; plane < pool.planes; ++plane) pool_plane(pool, plane);
  return WW_OK;
}
