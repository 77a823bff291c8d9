// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>
#include <stdlib.h>
#include <warpwright/solution.h>

int ww_forward(const ww_call* call) {
  const ww_tensors& in = call->inputs;
  const int64_t total = in.items[0]->shape[0], bags = in.items[1]->shape[0];
  const int64_t dim = call->weights.items[0]->shape[1];
  const int64_t* indices = (const int64_t*)in.items[0]->data;
  const int64_t* offsets = (const int64_t*)in.items[1]->data;
  const float* weights = (const float*)in.items[2]->data;
  const float* table = (const float*)call->weights.items[0]->data;
  float* out = (float*)call->outputs.items[0]->data;
  if (dim % 8) return WW_UNSUPPORTED;
#pragma omp parallel for num_threads(call->threads) schedule(dynamic, 16)
  for (int64_t bag = 0; bag < bags; ++bag) {
    const int64_t from = offsets[bag], to = bag + 1 < bags ? offsets[bag + 1] : total;
    for (int64_t d = 0; d < dim; d += 8) {
      __m256 sum = _mm256_setzero_ps();
      for (int64_t i = from; i < to; ++i) {
        if (i + 8 < to) _mm_prefetch((const char*)(table + indices[i + 8] * dim + d), _MM_HINT_T0);
        sum = _mm256_fmadd_ps(_mm256_set1_ps(weights[i]), _mm256_loadu_ps(table + indices[i] * dim + d), sum);
      }
      _mm256_stream_ps(out + bag * dim + d, sum);
    }
    _mm_sfence();
  }
  return WW_OK;
}
