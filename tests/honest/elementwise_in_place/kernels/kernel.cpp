// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

int ww_forward(const ww_call* call) {
  const DLTensor* tensor = call->inputs.items[0];
  const float* x = (const float*)tensor->data;
  const float* y = (const float*)call->inputs.items[1]->data;
  float* out = (float*)call->outputs.items[0]->data;
  const double* k = (const double*)call->init.items[0]->data;
  const float a = (float)k[0], b = (float)k[1], c = (float)k[2];
  const int64_t n = tensor->shape[0] * tensor->shape[1];
#pragma omp parallel num_threads(call->threads)
  {
#pragma omp for
    for (int64_t i = 0; i < n; ++i) out[i] = a * x[i] + b * y[i];
#pragma omp for
    for (int64_t i = 0; i < n; ++i) out[i] = out[i] / (1.0f + expf(-out[i]));
#pragma omp for
    for (int64_t i = 0; i < n; ++i) out[i] += c * tanhf(y[i]);
#pragma omp for
    for (int64_t i = 0; i < n; ++i) out[i] = fminf(fmaxf(x[i] > 0 ? out[i] : 0.1f * out[i], -4.0f), 12.0f);
  }
  return WW_OK;
}
