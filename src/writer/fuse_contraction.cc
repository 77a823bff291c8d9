// SPDX-License-Identifier: Apache-2.0
//
// Products: their operands as strided windows on memory, and the elementwise work that rides on their stores.
#include <algorithm>

#include "base/fault.h"
#include "writer/fuse.h"

namespace ww::writer {

// Views of a buffer whose address is affine in the view's positions.
std::optional<Operand> Fuser::strided(int id) const {
  Indices at = output_variables(node(id).shape);
  const Shape shape = node(id).shape;
  while (buffer_of(id) < 0) {
    if (node(id).kind != Kind::kView) return std::nullopt;
    at = apply_map(node(id).map, at);
    id = node(id).operands[0];
  }
  const Index address = flatten(at, node(id).shape);
  if (address.compound()) return std::nullopt;
  Operand operand{buffer_of(id), 0, shape, {}};
  Index rest = address;
  for (size_t i = 0; i < shape.size(); ++i) {
    operand.strides.push_back(address.coefficient("d" + std::to_string(i)));
    if (operand.strides.back() < 0) return std::nullopt;
  }
  operand.offset = address.low();
  return operand;
}

Operand Fuser::operand(int id) {
  std::optional<Operand> found = strided(id);
  if (!found) {
    if (node(id).kind == Kind::kView && home(id) < 0 && strided(node(id).operands[0])) {
      // A view of memory that no stride describes: copied as it is seen.
      store_alone(id);
    } else {
      materialize(id);
    }
    found = strided(id);
  }
  if (!found) {
    store_alone(id);
    found = strided(id);
  }
  WW_CHECK(found.has_value(), "operand in memory");
  return *found;
}

std::optional<double> Fuser::scalar(int id) const {
  while (node(id).kind == Kind::kView) id = node(id).operands[0];
  if (node(id).kind == Kind::kConstant) return node(id).number;
  return std::nullopt;
}

// Another tensor of the product's shape, or one value per column.
std::optional<Epilogue> Fuser::binary_epilogue(const Node& user, int other, const Shape& shape) const {
  while (node(other).kind == Kind::kMap && node(other).op == "cast" && buffer_of(other) < 0) {
    other = node(other).operands[0];
  }
  const std::optional<Operand> found = strided(other);
  if (!found || (user.op != "add" && user.op != "mul")) return std::nullopt;
  const DType dtype = plan_.buffer(found->buffer).dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kBfloat16) return std::nullopt;
  Epilogue epilogue;
  epilogue.kind = user.op == "add" ? Epilogue::Kind::kAdd : Epilogue::Kind::kMul;
  epilogue.operand = *found;
  std::vector<int64_t> contiguous(found->shape.size(), 1);
  for (size_t i = contiguous.size(); i-- > 1;) contiguous[i - 1] = contiguous[i] * found->shape[i];
  const bool whole = found->strides == contiguous && elements(found->shape) == elements(shape);
  const bool column = found->strides.back() == 1 && found->shape.back() == shape.back() &&
                      std::all_of(found->strides.begin(), found->strides.end() - 1, [](int64_t s) { return s == 0; });
  if (!whole && !column) return std::nullopt;
  epilogue.operand->shape = shape;
  if (!whole) {
    std::fill(epilogue.operand->shape.begin(), epilogue.operand->shape.end() - 1, 1);
  }
  return epilogue;
}

bool Fuser::absorb_map(ContractionKernel& kernel, int user, int last) {
  static const std::set<std::string> functions{"relu", "gelu", "gelu_tanh", "tanh", "sigmoid", "silu"};
  const Node& map = node(user);
  if (map.op == "cast") return map.dtype == DType::kFloat32 || map.dtype == DType::kBfloat16;
  Epilogue epilogue;
  if (functions.count(map.op)) {
    epilogue.op = map.op;
    return append_epilogue(kernel, epilogue);
  }
  if (map.operands.size() != 2 || map.operands[0] == map.operands[1]) return false;
  const bool first = map.operands[0] == last;
  const int other = map.operands[first ? 1 : 0];
  if (const std::optional<double> value = scalar(other)) {
    epilogue.kind = Epilogue::Kind::kLinear;
    if (map.op == "add") {
      epilogue.shift = *value;
    } else if (map.op == "mul") {
      epilogue.scale = *value;
    } else if (map.op == "sub" && first) {
      epilogue.shift = -*value;
    } else if (map.op == "div" && first) {
      epilogue.scale = 1 / *value;
    } else {
      return false;
    }
    return append_epilogue(kernel, epilogue);
  }
  if (node(kernel.node).kind == Kind::kConv) return false;
  const std::optional<Epilogue> binary = binary_epilogue(map, other, node(kernel.node).shape);
  if (binary) kernel.epilogue.push_back(*binary);
  return binary.has_value();
}

// Linear steps in a row are one. oneDNN 2.6 gives a second step of the same function the first one's constants.
bool Fuser::append_epilogue(ContractionKernel& kernel, const Epilogue& step) {
  std::vector<Epilogue>& steps = kernel.epilogue;
  const bool linear = step.kind == Epilogue::Kind::kLinear;
  if (linear && !steps.empty() && steps.back().kind == step.kind) {
    steps.back().shift = steps.back().shift * step.scale + step.shift;
    steps.back().scale *= step.scale;
    return true;
  }
  const bool known = std::any_of(steps.begin(), steps.end(), [&](const Epilogue& earlier) {
    return earlier.kind == step.kind && earlier.op == step.op;
  });
  if (!known) steps.push_back(step);
  return !known;
}

void Fuser::absorb_epilogue(ContractionKernel& kernel, int& last) {
  while (options_.fuse && users_[static_cast<size_t>(last)].size() == 1 && !returned_.count(last)) {
    const int user = users_[static_cast<size_t>(last)][0];
    const bool reshape = is_reshape(node(user), node(last));
    if (!reshape && !(node(user).kind == Kind::kMap && absorb_map(kernel, user, last))) return;
    absorbed_[static_cast<size_t>(user)] = true;
    last = user;
  }
}

void Fuser::place_contraction(int id) {
  ContractionKernel kernel;
  kernel.node = id;
  for (const int operand_node : node(id).operands) kernel.operands.push_back(operand(operand_node));
  int last = id;
  absorb_epilogue(kernel, last);
  kernel.output_shape = node(id).shape;
  const int at = new_kernel({kernel, {}, {}});
  const int buffer = new_buffer(last, at);
  std::get<ContractionKernel>(plan_.kernels[static_cast<size_t>(at)].work).output = buffer;
}

void Fuser::place_bag(int id) {
  BagKernel kernel;
  kernel.node = id;
  for (int operand_node : node(id).operands) {
    operand_node = strip_reshapes(operand_node);
    kernel.operands.push_back(buffer_of(operand_node) < 0 ? store(operand_node) : buffer_of(operand_node));
  }
  const int at = new_kernel({kernel, {}, {}});
  const int buffer = new_buffer(id, at);
  std::get<BagKernel>(plan_.kernels[static_cast<size_t>(at)].work).output = buffer;
}

}  // namespace ww::writer
