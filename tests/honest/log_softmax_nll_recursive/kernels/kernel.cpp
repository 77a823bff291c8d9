// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

static float pairwise(const float* x, float top, int64_t n) {
  if (n > 32) return pairwise(x, top, n / 2) + pairwise(x + n / 2, top, n - n / 2);
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += expf(x[i] - top);
  return sum;
}

int ww_forward(const ww_call* call) {
  const DLTensor* tensor = call->inputs.items[0];
  const int64_t rows = tensor->shape[0], cols = tensor->shape[1];
  const float* logits = (const float*)tensor->data;
  const int64_t* targets = (const int64_t*)call->inputs.items[1]->data;
  float* mean = (float*)call->outputs.items[0]->data;
  float* losses = (float*)call->outputs.items[1]->data;
#pragma omp parallel for num_threads(call->threads)
  for (int64_t row = 0; row < rows; ++row) {
    const float* x = logits + row * cols;
    float top = x[0];
    for (int64_t i = 1; i < cols; ++i) top = fmaxf(top, x[i]);
    losses[row] = logf(pairwise(x, top, cols)) - (x[targets[row]] - top);
  }
  double sum = 0;
  for (int64_t row = 0; row < rows; ++row) sum += losses[row];
  *mean = (float)(sum / (double)rows);
  return WW_OK;
}
