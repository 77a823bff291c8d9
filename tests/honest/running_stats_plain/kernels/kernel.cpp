// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

int ww_forward(const ww_call* call) {
  const DLTensor* tensor = call->inputs.items[0];
  const float* x = (const float*)tensor->data;
  const int64_t rows = tensor->shape[0], cols = tensor->shape[1];
  const float* mean_before = nullptr;
  const float* variance_before = nullptr;
  for (int i = 0; i < call->weights.count; ++i) {
    const bool is_mean = __builtin_strcmp(call->weights.names[i], "running_mean") == 0;
    const bool is_variance = __builtin_strcmp(call->weights.names[i], "running_variance") == 0;
    if (is_mean) mean_before = (const float*)call->weights.items[i]->data;
    if (is_variance) variance_before = (const float*)call->weights.items[i]->data;
  }
  float* out = (float*)call->outputs.items[0]->data;
  float *mean_after = (float*)call->outputs.items[1]->data, *variance_after = (float*)call->outputs.items[2]->data;
  const double momentum = *(const double*)call->init.items[1]->data;
  for (int64_t j = 0; j < cols; ++j) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < rows; ++i) sum += x[i * cols + j];
    const double mean = sum / (double)rows;
    for (int64_t i = 0; i < rows; ++i) squares += (x[i * cols + j] - mean) * (x[i * cols + j] - mean);
    const double variance = squares / (double)rows;
    for (int64_t i = 0; i < rows; ++i) out[i * cols + j] = (float)((x[i * cols + j] - mean) / sqrt(variance + 1e-5));
    mean_after[j] = (float)(mean_before[j] + momentum * (mean - mean_before[j]));
    variance_after[j] = (float)(variance_before[j] + momentum * (variance - variance_before[j]));
  }
  return WW_OK;
}
