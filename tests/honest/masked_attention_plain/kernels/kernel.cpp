// SPDX-License-Identifier: Apache-2.0
#include <alloca.h>
#include <math.h>
#include <warpwright/solution.h>

struct Attention {
  const float *q, *k, *v;
  const bool* keep;
  float* out;
  int64_t batch, heads, tokens, dim;
  float scale;
};

static Attention attention_of(const ww_call* call) {
  const ww_tensors& in = call->inputs;
  const int64_t* shape = in.items[0]->shape;
  return {(const float*)in.items[0]->data,
          (const float*)in.items[1]->data,
          (const float*)in.items[2]->data,
          (const bool*)in.items[3]->data,
          (float*)call->outputs.items[0]->data,
          shape[0],
          shape[1],
          shape[2],
          shape[3],
          (float)*(const double*)in.items[4]->data};
}

// One query row; scores has room for `tokens` floats.
static void attend(const Attention& t, int64_t head, int64_t row, float* scores) {
  const float* q = t.q + (head * t.tokens + row) * t.dim;
  const bool* keep = t.keep + (head / t.heads * t.tokens + row) * t.tokens;
  float* out = t.out + (head * t.tokens + row) * t.dim;
  float top = -INFINITY;
  for (int64_t j = 0; j < t.tokens; ++j) {
    float dot = 0;
    const float* k = t.k + (head * t.tokens + j) * t.dim;
    for (int64_t d = 0; d < t.dim; ++d) dot += q[d] * k[d];
    scores[j] = keep[j] ? dot * t.scale : -INFINITY;
    top = fmaxf(top, scores[j]);
  }
  float sum = 0;
  for (int64_t j = 0; j < t.tokens; ++j) sum += scores[j] = expf(scores[j] - top);
  for (int64_t d = 0; d < t.dim; ++d) out[d] = 0;
  for (int64_t j = 0; j < t.tokens; ++j)
    for (int64_t d = 0; d < t.dim; ++d) out[d] += scores[j] / sum * t.v[(head * t.tokens + j) * t.dim + d];
}

int ww_forward(const ww_call* call) {
  const Attention t = attention_of(call);
  float* scores = (float*)alloca((size_t)t.tokens * sizeof(float));
  for (int64_t head = 0; head < t.batch * t.heads; ++head)
    for (int64_t row = 0; row < t.tokens; ++row) attend(t, head, row, scores);
  return WW_OK;
}
