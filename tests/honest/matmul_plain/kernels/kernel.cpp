// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

struct Linear {
  const float *x, *weight, *bias;
  float* out;
  int64_t rows, in, cols;
};

static Linear linear_of(const ww_call* call) {
  const DLTensor *x = call->inputs.items[0], *w = call->weights.items[0];
  return {(const float*)x->data,
          (const float*)w->data,
          (const float*)call->weights.items[1]->data,
          (float*)call->outputs.items[0]->data,
          x->shape[0],
          x->shape[1],
          w->shape[0]};
}

static float gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678f)); }

// transposed: (in, cols)
static void compute(const Linear& t, const float* transposed) {
  for (int64_t row = 0; row < t.rows; ++row) {
    float* out = t.out + row * t.cols;
    for (int64_t j = 0; j < t.cols; ++j) out[j] = t.bias[j];
    for (int64_t k = 0; k < t.in; ++k) {
      const float x = t.x[row * t.in + k];
      const float* w = transposed + k * t.cols;
      for (int64_t j = 0; j < t.cols; ++j) out[j] += x * w[j];
    }
    for (int64_t j = 0; j < t.cols; ++j) out[j] = gelu(out[j]);
  }
}

static void transpose(const Linear& t, float* transposed) {
  for (int64_t j = 0; j < t.cols; ++j)
    for (int64_t k = 0; k < t.in; ++k) transposed[k * t.cols + j] = t.weight[j * t.in + k];
}

uint64_t ww_workspace_bytes(const ww_call* call) {
  const int64_t* shape = call->weights.items[0]->shape;
  return sizeof(float) * (uint64_t)(shape[0] * shape[1]);
}

int ww_forward(const ww_call* call) {
  const Linear t = linear_of(call);
  transpose(t, (float*)call->workspace);
  compute(t, (float*)call->workspace);
  return WW_OK;
}
