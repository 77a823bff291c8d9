// SPDX-License-Identifier: Apache-2.0
//
// Products and convolutions as oneDNN calls, and bags of table rows.
#include <algorithm>
#include <map>

#include "writer/emit.h"

namespace ww::writer {
namespace {

std::string list(const std::vector<int64_t>& values) {
  std::string text = "{";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "}";
}

std::string dnnl_type(DType dtype) {
  return dtype == DType::kBfloat16 ? "dnnl::memory::data_type::bf16" : "dnnl::memory::data_type::f32";
}

// Strides of size-1 dimensions mean nothing in a plan, but the library wants sensible ones; a repeated dimension is
// size 1.
std::string describe(const Shape& shape, const std::vector<int64_t>& strides, DType dtype) {
  Shape dims = shape;
  std::vector<int64_t> steps = strides;
  for (size_t i = dims.size(); i-- > 0;) {
    if (steps[i] == 0) dims[i] = 1;
    if (dims[i] == 1) steps[i] = i + 1 < dims.size() ? std::max<int64_t>(steps[i + 1] * dims[i + 1], 1) : 1;
  }
  return "Desc(" + list(dims) + ", " + dnnl_type(dtype) + ", " + list(steps) + ")";
}

std::vector<int64_t> contiguous(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// Leading dimensions become one where every operand steps through them evenly: the library is best at one batch
// dimension.
void merge_batch(std::vector<Operand>& operands) {
  while (operands[0].shape.size() > 3) {
    const bool even = std::all_of(operands.begin(), operands.end(), [](const Operand& operand) {
      return operand.strides[0] == operand.strides[1] * operand.shape[1] || operand.shape[0] == 1;
    });
    if (!even) return;
    for (Operand& operand : operands) {
      operand.shape[1] *= operand.shape[0];
      operand.shape.erase(operand.shape.begin());
      operand.strides.erase(operand.strides.begin());
    }
  }
}

std::string epilogue_text(const WorkloadPlan& plan, const std::vector<Epilogue>& epilogue,
                          const std::vector<Operand>& operands, size_t next_operand) {
  static const std::map<std::string, std::string> functions{
      {"relu", "eltwise_relu, 0.0f"}, {"gelu", "eltwise_gelu_erf, 0.0f"}, {"gelu_tanh", "eltwise_gelu_tanh, 0.0f"},
      {"tanh", "eltwise_tanh, 0.0f"}, {"silu", "eltwise_swish, 1.0f"},    {"sigmoid", "eltwise_logistic, 0.0f"}};
  std::string text = "Epilogue()";
  for (const Epilogue& step : epilogue) {
    switch (step.kind) {
      case Epilogue::Kind::kFunction:
        text += ".apply(dnnl::algorithm::" + functions.at(step.op) + ", 0.0f)";
        break;
      case Epilogue::Kind::kLinear:
        text += ".apply(dnnl::algorithm::eltwise_linear, " + literal(step.scale, DType::kFloat32) + ", " +
                literal(step.shift, DType::kFloat32) + ")";
        break;
      default: {
        const Operand& operand = operands[next_operand++];
        text += std::string(".combine(dnnl::algorithm::binary_") +
                (step.kind == Epilogue::Kind::kAdd ? "add, " : "mul, ") +
                describe(operand.shape, contiguous(operand.shape), plan.buffer(operand.buffer).dtype) + ")";
      }
    }
  }
  return text;
}

std::string address(const WorkloadPlan& plan, const Operand& operand) {
  const std::string& name = plan.buffer(operand.buffer).name;
  return operand.offset == 0 ? name : name + " + " + std::to_string(operand.offset);
}

bool fixed(const WorkloadPlan& plan, const Operand& operand) {
  const Place place = plan.buffer(operand.buffer).place;
  return place == Place::kWeight || place == Place::kPacked;
}

std::string pack_text(const WorkloadPlan& plan, const std::string& name, const Operand& weight) {
  return "state." + name + ".pack(" + address(plan, weight) + ", packed);\npacked += state." + name +
         ".packed_bytes();\n";
}

std::string comment(const WorkloadPlan& plan, int kernel, const ContractionKernel& work) {
  std::string text = "// " + operator_names(plan, plan.kernels[static_cast<size_t>(kernel)]) + ":";
  for (const Operand& operand : work.operands) {
    text += " " + value_text(operand.shape, plan.buffer(operand.buffer).dtype);
  }
  return text + "\n";
}

KernelSource emit_product(const WorkloadPlan& plan, int kernel, const ContractionKernel& work) {
  const std::string name = kernel_name(plan, kernel);
  const Buffer& output = plan.buffer(work.output);
  std::vector<Operand> operands{work.operands[0], work.operands[1]};
  operands.push_back({work.output, 0, work.output_shape, contiguous(work.output_shape)});
  for (const Epilogue& step : work.epilogue) {
    if (!step.operand) continue;
    operands.push_back(*step.operand);
    operands.back().strides = contiguous(step.operand->shape);
  }
  merge_batch(operands);
  const bool packs = fixed(plan, work.operands[1]);
  const auto described = [&](size_t i) {
    return describe(operands[i].shape, operands[i].strides, plan.buffer(operands[i].buffer).dtype);
  };
  std::string bias = "Desc()", bias_address = "nullptr", others;
  if (work.operands.size() > 2) {
    Shape shape(operands[2].shape.size(), 1);
    shape.back() = work.output_shape.back();
    bias = describe(shape, contiguous(shape), plan.buffer(work.operands[2].buffer).dtype);
    bias_address = address(plan, work.operands[2]);
  }
  for (const Epilogue& step : work.epilogue) {
    if (step.operand) others += (others.empty() ? "" : ", ") + address(plan, *step.operand);
  }
  KernelSource source;
  source.state = comment(plan, kernel, work) + "Product " + name + "{" + described(0) + ",\n    " + described(1) +
                 ",\n    " + bias + ",\n    " + described(2) + ",\n    " +
                 epilogue_text(plan, work.epilogue, operands, 3) + ", " + (packs ? "true" : "false") + "};\n";
  source.state_name = name;
  source.call = "state." + name + ".run(" + address(plan, work.operands[0]) + ", " +
                (packs ? "packed" : address(plan, work.operands[1])) + ", " + bias_address + ", " + output.name +
                ", library_workspace, {" + others + "});\n";
  if (packs) source.call += "packed += state." + name + ".packed_bytes();\n";
  if (packs) source.prepare = pack_text(plan, name, work.operands[1]);
  return source;
}

std::string shifted(const std::vector<int64_t>& values, int64_t by) {
  std::vector<int64_t> moved = values;
  for (int64_t& value : moved) value += by;
  return list(moved);
}

KernelSource emit_convolution(const WorkloadPlan& plan, int kernel, const ContractionKernel& work) {
  const std::string name = kernel_name(plan, kernel);
  const Node& node = plan.node(work.node);
  const DType dtype = node.dtype;
  const Operand &x = work.operands[0], &w = work.operands[1];
  Shape w_shape = w.shape;
  std::vector<int64_t> w_strides = w.strides;
  if (node.groups > 1) {
    w_shape[0] /= node.groups;
    w_shape.insert(w_shape.begin(), node.groups);
    w_strides.insert(w_strides.begin(), w_strides[0] * w_shape[1]);
  }
  const std::string bias = work.operands.size() > 2
                               ? "Desc({" + std::to_string(node.shape[1]) + "}, " +
                                     dnnl_type(plan.buffer(work.operands[2].buffer).dtype) + ", {1})"
                               : "Desc()";
  // What the stride leaves over at the far end is not padding.
  std::vector<int64_t> far = node.padding;
  for (size_t i = 0; i < far.size(); ++i) {
    const int64_t reach = (node.shape[i + 2] - 1) * node.stride[i] + (w.shape[i + 2] - 1) * node.dilation[i] + 1;
    far[i] = reach - x.shape[i + 2] - node.padding[i];
  }
  KernelSource source;
  source.state = comment(plan, kernel, work) + "Convolution " + name + "{" + describe(x.shape, x.strides, dtype) +
                 ",\n    " + describe(w_shape, w_strides, dtype) + ",\n    " + bias + ",\n    " +
                 describe(node.shape, contiguous(node.shape), plan.buffer(work.output).dtype) + ",\n    " +
                 list(node.stride) + ", " + shifted(node.dilation, -1) + ", " + list(node.padding) + ", " + list(far) +
                 ",\n    " + epilogue_text(plan, work.epilogue, {}, 0) + "};\n";
  source.state_name = name;
  const bool packs = fixed(plan, w);
  const std::string bias_address = work.operands.size() > 2 ? address(plan, work.operands[2]) : "nullptr";
  if (!packs) source.call = "state." + name + ".pack(" + address(plan, w) + ", packed);\n";
  source.call += "state." + name + ".run(" + address(plan, x) + ", packed, " + bias_address + ", " +
                 plan.buffer(work.output).name + ", library_workspace);\npacked += state." + name +
                 ".packed_bytes();\n";
  source.prepare = packs ? pack_text(plan, name, w) : "packed += state." + name + ".packed_bytes();\n";
  return source;
}

}  // namespace

KernelSource emit_contraction(const WorkloadPlan& plan, int kernel) {
  const auto& work = std::get<ContractionKernel>(plan.kernels[static_cast<size_t>(kernel)].work);
  return plan.node(work.node).kind == Kind::kConv ? emit_convolution(plan, kernel, work)
                                                  : emit_product(plan, kernel, work);
}

}  // namespace ww::writer
