// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

struct Rows {
  const float* x;
  float* out;
  int64_t rows, cols;
};

static Rows rows_of(const ww_call* call) {
  const DLTensor* x = call->inputs.items[0];
  return {(const float*)x->data, (float*)call->outputs.items[0]->data, x->shape[0], x->shape[1]};
}

static const int64_t kBlocks[] = {64, 256, 1024, 16384};

int32_t ww_config_count(void) { return 4; }

int ww_forward(const ww_call* call) {
  const Rows t = rows_of(call);
  const int64_t block = kBlocks[call->config];
  if (block > 4 * t.cols) return WW_UNSUPPORTED;
#pragma omp parallel for num_threads(call->threads)
  for (int64_t row = 0; row < t.rows; ++row) {
    const float* x = t.x + row * t.cols;
    float top = -INFINITY, sum = 0;
    for (int64_t from = 0; from < t.cols; from += block) {
      const int64_t to = from + block < t.cols ? from + block : t.cols;
      float block_top = top;
      for (int64_t i = from; i < to; ++i) block_top = fmaxf(block_top, x[i]);
      if (block_top > top) {
        sum *= expf(top - block_top);
        top = block_top;
      }
      for (int64_t i = from; i < to; ++i) sum += expf(x[i] - top);
    }
    const float scale = 1.0f / sum;
    for (int64_t i = 0; i < t.cols; ++i) t.out[row * t.cols + i] = expf(x[i] - top) * scale;
  }
  return WW_OK;
}
