// SPDX-License-Identifier: Apache-2.0
#include "writer/prelude.h"

namespace ww::writer {

const std::string_view kDnnlPrelude = R"cpp(
  // Products through oneDNN. A primitive is made once per workload and holds no tensor's address: those come with each
  // call.
  using Desc = dnnl::memory::desc;

  static dnnl::engine& engine() {
    static dnnl::engine* const cpu = new dnnl::engine(dnnl::engine::kind::cpu, 0);
    return *cpu;
  }

  static dnnl::stream& stream() {
    static dnnl::stream* const in_order = new dnnl::stream(engine());
    return *in_order;
  }

  static inline dnnl::memory bind(const Desc& desc, const void* data) { return {desc, engine(), (void*)data}; }

  static inline uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

  // The layout that the primitive may choose.
  static inline Desc any_layout(const Desc& desc) {
    return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any};
  }

  static inline void reorder(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) {
    dnnl::memory source = bind(from_desc, from), target = bind(to_desc, to);
    dnnl::reorder(source, target).execute(stream(), source, target);
  }

  // Work on a product's elements before they are stored.
  struct Epilogue {
    dnnl::post_ops ops;
    std::vector<Desc> operands;  // of add and mul, in order
    std::vector<int> positions;

    Epilogue& apply(dnnl::algorithm function, float alpha, float beta) {
      ops.append_eltwise(1.0f, function, alpha, beta);
      return *this;
    }
    Epilogue& combine(dnnl::algorithm function, const Desc& operand) {
      positions.push_back(ops.len());
      operands.push_back(operand);
      ops.append_binary(function, operand);
      return *this;
    }
    dnnl::primitive_attr attributes() const {
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      attributes.set_post_ops(ops);
      return attributes;
    }
    void bind_operands(std::unordered_map<int, dnnl::memory>& arguments, std::initializer_list<const void*> data) const {
      size_t i = 0;
      for (const void* operand : data) {
        const int place = DNNL_ARG_ATTR_MULTIPLE_POST_OP(positions[i]) | DNNL_ARG_SRC_1;
        arguments[place] = bind(operands[i++], operand);
      }
    }
  };

  // (m, k) x (k, n), or a batch of them.
  struct Product {
    Desc a, b, bias, c;  // as the tensors lie in memory; no bias: zero dimensions
    Epilogue epilogue;
    bool packs;  // b is a weight, kept in the layout that the primitive likes best
    dnnl::matmul::primitive_desc chosen = choose();
    dnnl::matmul primitive{chosen};

    dnnl::matmul::primitive_desc choose() const {
      const Desc weights = packs ? any_layout(b) : b;
      const dnnl::matmul::desc description =
          bias.data.ndims > 0 ? dnnl::matmul::desc(a, weights, bias, c) : dnnl::matmul::desc(a, weights, c);
      return {description, epilogue.attributes(), engine()};
    }
    uint64_t packed_bytes() const { return packs ? rounded(chosen.weights_desc().get_size()) : 0; }
    uint64_t workspace_bytes() const { return rounded(chosen.scratchpad_desc().get_size()); }
    void pack(const void* given, void* packed) const { reorder(b, given, chosen.weights_desc(), packed); }
    void run(const void* left, const void* right, const void* added, void* result, void* workspace,
             std::initializer_list<const void*> operands) const {
      std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SRC, bind(a, left)},
                                                      {DNNL_ARG_WEIGHTS, bind(chosen.weights_desc(), right)},
                                                      {DNNL_ARG_DST, bind(c, result)},
                                                      {DNNL_ARG_SCRATCHPAD, bind(chosen.scratchpad_desc(), workspace)}};
      if (added) arguments[DNNL_ARG_BIAS] = bind(bias, added);
      epilogue.bind_operands(arguments, operands);
      primitive.execute(stream(), arguments);
    }
  };

  // Input and result are reordered where the primitive wants another layout than the tensors have.
  struct Convolution {
    Desc x, w, bias, y;
    dnnl::memory::dims stride, dilation, padding_low, padding_high;
    Epilogue epilogue;
    dnnl::convolution_forward::primitive_desc chosen = choose();
    dnnl::convolution_forward primitive{chosen};

    dnnl::convolution_forward::primitive_desc choose() const {
      const auto kind = dnnl::prop_kind::forward_inference;
      const auto algorithm = dnnl::algorithm::convolution_direct;
      const Desc source = any_layout(x), weights = any_layout(w), target = any_layout(y);
      if (bias.data.ndims > 0) {
        return {{kind, algorithm, source, weights, bias, target, stride, dilation, padding_low, padding_high},
                epilogue.attributes(),
                engine()};
      }
      return {{kind, algorithm, source, weights, target, stride, dilation, padding_low, padding_high},
              epilogue.attributes(),
              engine()};
    }
    uint64_t packed_bytes() const { return rounded(chosen.weights_desc().get_size()); }
    uint64_t scratchpad_bytes() const { return rounded(chosen.scratchpad_desc().get_size()); }
    uint64_t source_bytes() const { return chosen.src_desc() == x ? 0 : rounded(chosen.src_desc().get_size()); }
    uint64_t target_bytes() const { return chosen.dst_desc() == y ? 0 : rounded(chosen.dst_desc().get_size()); }
    uint64_t workspace_bytes() const { return scratchpad_bytes() + source_bytes() + target_bytes(); }
    void pack(const void* given, void* packed) const { reorder(w, given, chosen.weights_desc(), packed); }
    void run(const void* input, const void* packed, const void* added, void* result, void* workspace) const {
      char* const scratchpad = (char*)workspace;
      char* const source = source_bytes() > 0 ? scratchpad + scratchpad_bytes() : (char*)input;
      char* const target = target_bytes() > 0 ? scratchpad + scratchpad_bytes() + source_bytes() : (char*)result;
      if (source != input) reorder(x, input, chosen.src_desc(), source);
      std::unordered_map<int, dnnl::memory> arguments{
          {DNNL_ARG_SRC, bind(chosen.src_desc(), source)},
          {DNNL_ARG_WEIGHTS, bind(chosen.weights_desc(), packed)},
          {DNNL_ARG_DST, bind(chosen.dst_desc(), target)},
          {DNNL_ARG_SCRATCHPAD, bind(chosen.scratchpad_desc(), scratchpad)}};
      if (added) arguments[DNNL_ARG_BIAS] = bind(bias, added);
      primitive.execute(stream(), arguments);
      if (target != result) reorder(chosen.dst_desc(), target, y, result);
    }
  };
)cpp";

}  // namespace ww::writer
