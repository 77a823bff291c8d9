// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

template <int kTile>
static void scores(const float* a, const float* bt, float* out, int64_t inner, int64_t cols, float scale) {
  for (int64_t from = 0; from < cols; from += kTile) {
    const int64_t width = from + kTile < cols ? kTile : cols - from;
    float acc[kTile] = {};
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t j = 0; j < width; ++j) acc[j] += a[k] * bt[k * cols + from + j];
    for (int64_t j = 0; j < width; ++j) out[from + j] = acc[j] * scale;
  }
}

static void softmax(float* x, int64_t n) {
  float top = x[0], sum = 0;
  for (int64_t i = 1; i < n; ++i) top = fmaxf(top, x[i]);
  for (int64_t i = 0; i < n; ++i) sum += x[i] = expf(x[i] - top);
  for (int64_t i = 0; i < n; ++i) x[i] /= sum;
}

int32_t ww_config_count(void) { return 6; }

uint64_t ww_workspace_bytes(const ww_call* call) {
  const int64_t* shape = call->inputs.items[1]->shape;
  return sizeof(float) * (uint64_t)(shape[0] * shape[1] * shape[2]);
}

int ww_forward(const ww_call* call) {
  const int64_t batch = call->inputs.items[0]->shape[0], rows = call->inputs.items[0]->shape[1];
  const int64_t inner = call->inputs.items[0]->shape[2], cols = call->inputs.items[1]->shape[1];
  const float *a = (const float*)call->inputs.items[0]->data, *b = (const float*)call->inputs.items[1]->data;
  const float scale = (float)*(const double*)call->init.items[0]->data;
  float *out = (float*)call->outputs.items[0]->data, *bt = (float*)call->workspace;
  const int threads = call->config % 2 ? call->threads : 1;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t j = 0; j < cols; ++j)
        for (int64_t k = 0; k < inner; ++k) bt[(n * inner + k) * cols + j] = b[(n * cols + j) * inner + k];
#pragma omp for
    for (int64_t row = 0; row < batch * rows; ++row) {
      const float *x = a + row * inner, *w = bt + row / rows * inner * cols;
      float* y = out + row * cols;
      if (call->config < 2)
        scores<16>(x, w, y, inner, cols, scale);
      else if (call->config < 4)
        scores<64>(x, w, y, inner, cols, scale);
      else
        scores<256>(x, w, y, inner, cols, scale);
      softmax(y, cols);
    }
  }
  return WW_OK;
}
