// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

int ww_forward(const ww_call* call) {
  const DLTensor* tensor = call->inputs.items[0];
  const int64_t rows = tensor->shape[0], dim = tensor->shape[1];
  const ww_fp16* gamma = (const ww_fp16*)call->weights.items[0]->data;
  const ww_fp16* beta = (const ww_fp16*)call->weights.items[1]->data;
  const float eps = (float)*(const double*)call->init.items[1]->data;
#pragma omp parallel for num_threads(call->threads)
  for (int64_t row = 0; row < rows; ++row) {
    const ww_fp16* x = (const ww_fp16*)tensor->data + row * dim;
    ww_fp16* out = (ww_fp16*)call->outputs.items[0]->data + row * dim;
    float h[4096];
    if (dim > 4096) __builtin_trap();
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < dim; ++i) {
      const float v = ww_fp16_to_float(x[i]);
      sum += h[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
    }
    const float mean = sum / (float)dim;
    for (int64_t i = 0; i < dim; ++i) squares += (h[i] - mean) * (h[i] - mean);
    const float scale = 1.0f / sqrtf(squares / (float)dim + eps);
    for (int64_t i = 0; i < dim; ++i)
      out[i] = ww_fp16_from_float((h[i] - mean) * scale * ww_fp16_to_float(gamma[i]) + ww_fp16_to_float(beta[i]));
  }
  return WW_OK;
}
