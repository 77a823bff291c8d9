// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <warpwright/solution.h>

#include <memory>
#include <vector>

int ww_forward(const ww_call* call) {
  const DLTensor* tensor = call->inputs.items[0];
  const int64_t rows = tensor->shape[0], cols = tensor->shape[1];
  const float* x = (const float*)tensor->data;
  float* out = (float*)call->outputs.items[0]->data;
  std::vector<float> tops((size_t)rows, -INFINITY);
  std::unique_ptr<float[]> sums(new float[(size_t)rows]());
  float* scratch = (float*)malloc((size_t)(rows * cols) * sizeof(float));
  if (!scratch) return -1;
#pragma omp parallel for num_threads(call->threads)
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * cols;
    for (int64_t i = 0; i < cols; ++i) tops[(size_t)row] = fmaxf(tops[(size_t)row], x[at + i]);
    for (int64_t i = 0; i < cols; ++i) sums[row] += scratch[at + i] = expf(x[at + i] - tops[(size_t)row]);
    for (int64_t i = 0; i < cols; ++i) scratch[at + i] /= sums[row];
    memcpy(out + at, scratch + at, (size_t)cols * sizeof(float));
  }
  free(scratch);
  return WW_OK;
}
