// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

static void multiply(const float* x, const float* w, float* out, int64_t in, int64_t from, int64_t to) {
  for (int64_t j = from; j < to; ++j) {
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t k = 0; k < in; ++k) dot += x[k] * w[j * in + k];
    out[j] = dot;
  }
}

uint64_t ww_workspace_bytes(const ww_call* call) {
  const uint64_t tokens = (uint64_t)call->inputs.items[0]->shape[0];
  return 2 * sizeof(float) * tokens * (uint64_t)call->weights.items[0]->shape[0];
}

int ww_forward(const ww_call* call) {
  const int64_t tokens = call->inputs.items[0]->shape[0], dim = call->inputs.items[0]->shape[1];
  const int64_t hidden = call->weights.items[0]->shape[0];
  const float* x = (const float*)call->inputs.items[0]->data;
  const float* gate = (const float*)call->weights.items[0]->data;
  const float* up = (const float*)call->weights.items[1]->data;
  const float* down = (const float*)call->weights.items[2]->data;
  float* out = (float*)call->outputs.items[0]->data;
  float *a = (float*)call->workspace, *b = a + tokens * hidden;
#pragma omp parallel num_threads(call->threads)
#pragma omp single
  for (int64_t t = 0; t < tokens; ++t) {
#pragma omp task depend(out : a[t * hidden])
    multiply(x + t * dim, gate, a + t * hidden, dim, 0, hidden);
#pragma omp task depend(out : b[t * hidden])
    multiply(x + t * dim, up, b + t * hidden, dim, 0, hidden);
#pragma omp task depend(in : a[t * hidden], b[t * hidden])
    {
      float *row = a + t * hidden, *other = b + t * hidden;
      for (int64_t j = 0; j < hidden; ++j) row[j] = row[j] / (1.0f + expf(-row[j])) * other[j];
      multiply(row, down, out + t * dim, hidden, 0, dim);
    }
  }
  return WW_OK;
}
