// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

struct Rows {
  const float *x, *weight;
  float* out;
  int64_t rows, dim;
  float eps;
};

static Rows rows_of(const ww_call* call) {
  const DLTensor* x = call->inputs.items[0];
  return {(const float*)x->data,
          (const float*)call->weights.items[0]->data,
          (float*)call->outputs.items[0]->data,
          x->shape[0] * x->shape[1],
          x->shape[2],
          (float)*(const double*)call->init.items[1]->data};
}

int ww_forward(const ww_call* call) {
  const Rows t = rows_of(call);
#pragma omp parallel for num_threads(call->threads)
  for (int64_t row = 0; row < t.rows; ++row) {
    const float* x = t.x + row * t.dim;
    float partial[32] = {};
    int64_t i = 0;
    for (; i + 32 <= t.dim; i += 32)
      for (int lane = 0; lane < 32; ++lane) partial[lane] += x[i + lane] * x[i + lane];
    float sum = 0;
    for (int lane = 31; lane >= 0; --lane) sum += partial[lane];
    for (; i < t.dim; ++i) sum += x[i] * x[i];
    const float scale = 1.0f / sqrtf(sum / (float)t.dim + t.eps);
    for (i = 0; i < t.dim; ++i) t.out[row * t.dim + i] = x[i] * (scale * t.weight[i]);
  }
  return WW_OK;
}
