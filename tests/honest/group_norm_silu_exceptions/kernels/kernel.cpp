// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

#include <stdexcept>

struct Group {
  const float *x, *gamma, *beta;
  float* out;
  int64_t channels, pixels;
  double eps;
};

static void normalise_four(const Group& g) {
  if (g.pixels % 4) throw std::invalid_argument("pixels not divisible by four");
  throw std::runtime_error("this path is not worth having");
}

static void normalise(const Group& g) {
  double sum = 0, squares = 0;
  const int64_t n = g.channels * g.pixels;
  for (int64_t i = 0; i < n; ++i) sum += g.x[i];
  const double mean = sum / (double)n;
  for (int64_t i = 0; i < n; ++i) squares += (g.x[i] - mean) * (g.x[i] - mean);
  const double scale = 1.0 / sqrt(squares / (double)n + g.eps);
  for (int64_t c = 0; c < g.channels; ++c) {
    for (int64_t i = c * g.pixels; i < (c + 1) * g.pixels; ++i) {
      const float h = (float)((g.x[i] - mean) * scale) * g.gamma[c] + g.beta[c];
      g.out[i] = h / (1.0f + expf(-h));
    }
  }
}

int ww_forward(const ww_call* call) {
  const DLTensor* x = call->inputs.items[0];
  const int64_t groups = *(const int64_t*)call->init.items[0]->data;
  const int64_t channels = x->shape[1] / groups, pixels = x->shape[2] * x->shape[3];
  const double eps = *(const double*)call->init.items[2]->data;
#pragma omp parallel for num_threads(call->threads)
  for (int64_t i = 0; i < x->shape[0] * groups; ++i) {
    const int64_t at = i * channels * pixels, channel = i % groups * channels;
    const Group group{(const float*)x->data + at,
                      (const float*)call->weights.items[0]->data + channel,
                      (const float*)call->weights.items[1]->data + channel,
                      (float*)call->outputs.items[0]->data + at,
                      channels,
                      pixels,
                      eps};
    try {
      normalise_four(group);
    } catch (const std::exception&) {
      normalise(group);
    }
  }
  return WW_OK;
}
