// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <warpwright/solution.h>

static void rotate(const DLTensor* in, float* out, const float* cos, const float* sin) {
  const int64_t tokens = in->shape[2], half = in->shape[3] / 2;
  const float* x = (const float*)in->data;
  for (int64_t row = 0; row < in->shape[0] * in->shape[1] * tokens; ++row) {
    const float *a = x + row * 2 * half, *b = a + half, *c = cos + row % tokens * half, *s = sin + row % tokens * half;
    float* y = out + row * 2 * half;
    for (int64_t i = 0; i < half; ++i) {
      y[i] = a[i] * c[i] - b[i] * s[i];
      y[half + i] = b[i] * c[i] + a[i] * s[i];
    }
  }
}

int ww_forward(const ww_call* call) {
  const DLTensor *cos = call->weights.items[0], *sin = call->weights.items[1];
  const uint64_t bytes = sizeof(float) * (uint64_t)(cos->shape[0] * cos->shape[1]);
  float tables[2][3 << 18];
  if (bytes > sizeof tables[0]) return WW_UNSUPPORTED;
  memcpy(tables[0], cos->data, bytes);
  memcpy(tables[1], sin->data, bytes);
  for (int i = 0; i < 2; ++i) rotate(call->inputs.items[i], (float*)call->outputs.items[i]->data, tables[0], tables[1]);
  return WW_OK;
}
