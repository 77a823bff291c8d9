// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <warpwright/solution.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

using dnnl::memory;

int ww_forward(const ww_call* call) {
  const DLTensor *x = call->inputs.items[0], *w = call->weights.items[0], *y = call->outputs.items[0];
  const int64_t stride = *(const int64_t*)call->init.items[3]->data;
  const int64_t padding = *(const int64_t*)call->init.items[4]->data;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  const auto f32 = memory::data_type::f32;
  const memory::dims xs(x->shape, x->shape + 4), ws(w->shape, w->shape + 4), ys(y->shape, y->shape + 4);
  const memory::dims strides{stride, stride}, pads{padding, padding};
  const auto any = memory::format_tag::any;
  const memory::desc bias_desc({ws[0]}, f32, memory::format_tag::a);
  dnnl::post_ops ops;
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  const dnnl::convolution_forward::primitive_desc desc(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, memory::desc(xs, f32, any),
       memory::desc(ws, f32, any), bias_desc, memory::desc(ys, f32, any), strides, pads, pads},
      attr, engine);
  memory plain_x({xs, f32, memory::format_tag::nchw}, engine, x->data);
  memory plain_w({ws, f32, memory::format_tag::oihw}, engine, w->data);
  memory plain_y({ys, f32, memory::format_tag::nchw}, engine, y->data);
  memory bias(bias_desc, engine, call->weights.items[1]->data);
  memory own_x(desc.src_desc(), engine), own_w(desc.weights_desc(), engine), own_y(desc.dst_desc(), engine);
  dnnl::reorder(plain_x, own_x).execute(stream, plain_x, own_x);
  dnnl::reorder(plain_w, own_w).execute(stream, plain_w, own_w);
  dnnl::convolution_forward(desc).execute(
      stream, {{DNNL_ARG_SRC, own_x}, {DNNL_ARG_WEIGHTS, own_w}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, own_y}});
  dnnl::reorder(own_y, plain_y).execute(stream, own_y, plain_y);
  stream.wait();
  return WW_OK;
}
