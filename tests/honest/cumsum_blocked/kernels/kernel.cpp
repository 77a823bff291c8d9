// SPDX-License-Identifier: Apache-2.0
#include <omp.h>
#include <warpwright/solution.h>

uint64_t ww_workspace_bytes(const ww_call* call) {
  return sizeof(double) * (uint64_t)call->inputs.items[0]->shape[0] * (uint64_t)(call->threads + 1);
}

int ww_forward(const ww_call* call) {
  const DLTensor* tensor = call->inputs.items[0];
  const int64_t rows = tensor->shape[0], cols = tensor->shape[1];
  const float* x = (const float*)tensor->data;
  float* out = (float*)call->outputs.items[0]->data;
  double* sums = (double*)call->workspace;
#pragma omp parallel num_threads(call->threads)
  {
    const int threads = omp_get_num_threads(), t = omp_get_thread_num();
    const int64_t from = cols * t / threads, to = cols * (t + 1) / threads;
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t i = from; i < to; ++i) sum += x[row * cols + i];
      sums[row * threads + t] = sum;
    }
#pragma omp barrier
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int before = 0; before < t; ++before) sum += sums[row * threads + before];
      for (int64_t i = from; i < to; ++i) out[row * cols + i] = (float)(sum += x[row * cols + i]);
    }
  }
  return WW_OK;
}
