// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <warpwright/solution.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace {

struct Kernel {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::memory x, weight, bias, out;
  dnnl::inner_product_forward primitive;

  Kernel(int64_t rows, int64_t in, int64_t cols) {
    using dnnl::memory;
    const auto f32 = memory::data_type::f32;
    const memory::desc x_desc({rows, in}, f32, memory::format_tag::ab);
    const memory::desc weight_desc({cols, in}, f32, memory::format_tag::ab);
    const memory::desc bias_desc({cols}, f32, memory::format_tag::a);
    const memory::desc out_desc({rows, cols}, f32, memory::format_tag::ab);
    dnnl::post_ops ops;
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
    dnnl::primitive_attr attr;
    attr.set_post_ops(ops);
    const dnnl::inner_product_forward::desc desc(dnnl::prop_kind::forward_inference, x_desc, weight_desc, bias_desc,
                                                 out_desc);
    primitive = dnnl::inner_product_forward({desc, attr, engine});
    x = memory(x_desc, engine, nullptr);
    weight = memory(weight_desc, engine, nullptr);
    bias = memory(bias_desc, engine, nullptr);
    out = memory(out_desc, engine, nullptr);
  }
};

}  // namespace

int ww_forward(const ww_call* call) {
  const DLTensor *x = call->inputs.items[0], *w = call->weights.items[0];
  static std::unordered_map<int64_t, std::unique_ptr<Kernel>> kernels;
  std::unique_ptr<Kernel>& kernel = kernels[x->shape[0] << 32 | x->shape[1] << 16 | w->shape[0]];
  if (!kernel) kernel = std::make_unique<Kernel>(x->shape[0], x->shape[1], w->shape[0]);
  kernel->x.set_data_handle(x->data);
  kernel->weight.set_data_handle(w->data);
  kernel->bias.set_data_handle(call->weights.items[1]->data);
  kernel->out.set_data_handle(call->outputs.items[0]->data);
  kernel->primitive.execute(kernel->stream, {{DNNL_ARG_SRC, kernel->x},
                                             {DNNL_ARG_WEIGHTS, kernel->weight},
                                             {DNNL_ARG_BIAS, kernel->bias},
                                             {DNNL_ARG_DST, kernel->out}});
  kernel->stream.wait();
  return WW_OK;
}
