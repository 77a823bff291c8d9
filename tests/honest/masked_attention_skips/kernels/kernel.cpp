// SPDX-License-Identifier: Apache-2.0
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

int ww_forward(const ww_call* call) {
  const Attention t = attention_of(call);
#pragma omp parallel for num_threads(call->threads) collapse(2) schedule(dynamic, 8)
  for (int64_t head = 0; head < t.batch * t.heads; ++head) {
    for (int64_t row = 0; row < t.tokens; ++row) {
      const bool* keep = t.keep + (head / t.heads * t.tokens + row) * t.tokens;
      const float* q = t.q + (head * t.tokens + row) * t.dim;
      float sum = 0, top = -INFINITY, acc[256] = {};
      if (t.dim > 256) __builtin_trap();
      for (int64_t j = 0; j < t.tokens; ++j) {
        if (!keep[j]) continue;
        const float *k = t.k + (head * t.tokens + j) * t.dim, *v = t.v + (head * t.tokens + j) * t.dim;
        float dot = 0;
#pragma omp simd reduction(+ : dot)
        for (int64_t d = 0; d < t.dim; ++d) dot += q[d] * k[d];
        dot *= t.scale;
        const float rescale = dot > top ? expf(top - dot) : 1.0f;
        top = fmaxf(top, dot);
        const float weight = expf(dot - top);
        sum = sum * rescale + weight;
        for (int64_t d = 0; d < t.dim; ++d) acc[d] = acc[d] * rescale + weight * v[d];
      }
      for (int64_t d = 0; d < t.dim; ++d) t.out[(head * t.tokens + row) * t.dim + d] = acc[d] / sum;
    }
  }
  return WW_OK;
}
