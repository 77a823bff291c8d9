// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <warpwright/solution.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

using dnnl::memory;

static std::vector<ww_bf16> narrow(const DLTensor* tensor) {
  const float* values = (const float*)tensor->data;
  std::vector<ww_bf16> result((size_t)(tensor->shape[0] * tensor->shape[1]));
  for (size_t i = 0; i < result.size(); ++i) result[i] = ww_bf16_from_float(values[i]);
  return result;
}

int ww_forward(const ww_call* call) {
  const DLTensor *x = call->inputs.items[0], *w = call->weights.items[0];
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  std::vector<ww_bf16> narrow_x = narrow(x), narrow_w = narrow(w);
  const auto bf16 = memory::data_type::bf16, f32 = memory::data_type::f32;
  const memory::desc x_desc({x->shape[0], x->shape[1]}, bf16, memory::format_tag::ab);
  const memory::desc w_desc({w->shape[0], w->shape[1]}, bf16, memory::format_tag::ab);
  const memory::desc b_desc({w->shape[0]}, f32, memory::format_tag::a);
  const memory::desc y_desc({x->shape[0], w->shape[0]}, f32, memory::format_tag::ab);
  dnnl::post_ops ops;
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  memory xm(x_desc, engine, narrow_x.data()), wm(w_desc, engine, narrow_w.data());
  memory bm(b_desc, engine, call->weights.items[1]->data), ym(y_desc, engine, call->outputs.items[0]->data);
  const dnnl::inner_product_forward::desc desc(dnnl::prop_kind::forward_inference, x_desc, w_desc, b_desc, y_desc);
  dnnl::inner_product_forward({desc, attr, engine})
      .execute(stream, {{DNNL_ARG_SRC, xm}, {DNNL_ARG_WEIGHTS, wm}, {DNNL_ARG_BIAS, bm}, {DNNL_ARG_DST, ym}});
  stream.wait();
  return WW_OK;
}
