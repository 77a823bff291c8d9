// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

int ww_forward(const ww_call* call) {
  const DLTensor* tensor = call->inputs.items[0];
  const int64_t rows = tensor->shape[0], cols = tensor->shape[1];
  const int64_t* targets = (const int64_t*)call->inputs.items[1]->data;
  float* mean = (float*)call->outputs.items[0]->data;
  float* losses = (float*)call->outputs.items[1]->data;
  double total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float* x = (const float*)tensor->data + row * cols;
    float top = x[0];
    double sum = 0;
    for (int64_t i = 1; i < cols; ++i) top = fmaxf(top, x[i]);
    for (int64_t i = 0; i < cols; ++i) sum += expf(x[i] - top);
    losses[row] = (float)log(sum) - (x[targets[row]] - top);
    total += losses[row];
  }
  *mean = (float)(total / (double)rows);
  for (int64_t row = 1; row < rows; row += 2) losses[row] = *mean;
  return WW_OK;
}
