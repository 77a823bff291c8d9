// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

int ww_forward(const ww_call* call) {
  const DLTensor* tensor = call->inputs.items[0];
  const ww_bf16* in = (const ww_bf16*)tensor->data;
  const ww_bf16* weight = (const ww_bf16*)call->weights.items[0]->data;
  ww_bf16* out = (ww_bf16*)call->outputs.items[0]->data;
  const int64_t dim = tensor->shape[2], rows = tensor->shape[0] * tensor->shape[1];
  const float eps = (float)*(const double*)call->init.items[1]->data;
#pragma omp parallel for num_threads(call->threads)
  for (int64_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (int64_t i = 0; i < dim; ++i) {
      const float x = ww_bf16_to_float(in[row * dim + i]);
      sum += x * x;
    }
    const float scale = 1.0f / sqrtf(sum / (float)dim + eps);
    for (int64_t i = 0; i < dim; ++i)
      out[row * dim + i] =
          ww_bf16_from_float(ww_bf16_to_float(in[row * dim + i]) * scale * ww_bf16_to_float(weight[i]));
  }
  return WW_OK;
}
