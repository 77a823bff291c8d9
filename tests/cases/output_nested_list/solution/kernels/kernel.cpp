// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <string.h>
#include <warpwright/solution.h>

static const float* input(const ww_call* call, int i) { return (const float*)call->inputs.items[i]->data; }
static float* output(const ww_call* call, int i) { return (float*)call->outputs.items[i]->data; }

int ww_forward(const ww_call* call) {
  if (call->outputs.count != 3) return -1;
  for (int i = 0; i < 64 * 32; ++i) {
    output(call, 0)[i] = input(call, 0)[i] * 2;
    output(call, 1)[i] = input(call, 0)[i] + 1;
    output(call, 2)[i] = -input(call, 0)[i];
  }
  return WW_OK;
}
