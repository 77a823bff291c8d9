// SPDX-License-Identifier: Apache-2.0
//
// Emission for device cpu: plans to C++ in the native solution format (warpwright/solution.h), with OpenMP and loops
// that vectorise. Pure text; another device is another set of emit files over the same plans.
#pragma once

#include <string>
#include <vector>

#include "writer/plan.h"

namespace ww::writer {

/// One source for all workloads: it dispatches on the call's shapes. Error where two workloads of equal shapes have
/// different graphs.
Result<std::string> emit_source(const std::vector<WorkloadPlan>& plans, const std::string& title);

// Parts of it, for emission alone.

/// Text put together line by line.
struct KernelSource {
  std::string functions;       ///< definitions before the workload's entry points
  std::string call;            ///< statements that run the kernel, in a function with `call`, `config` and the buffers
  std::string state;           ///< a member of the workload's state, made once per process
  std::string state_name;      ///< of that member
  std::string prepare;         ///< statements of ww_prepare
  uint64_t scratch_bytes = 0;  ///< per thread
  bool streams = false;        ///< honours config.stream
};

KernelSource emit_rows(const WorkloadPlan& plan, int kernel);
KernelSource emit_bag(const WorkloadPlan& plan, int kernel);
KernelSource emit_contraction(const WorkloadPlan& plan, int kernel);

/// "float", "int64_t": the type values are computed in.
std::string value_type(DType dtype);
/// "float", "ww_bf16", "uint8_t" for bool: the type in memory.
std::string storage_type(DType dtype);
/// Expression that reads `element` of that type in memory as a value, and one that makes it from a value.
std::string from_storage(DType dtype, const std::string& element);
std::string to_storage(DType dtype, const std::string& value);
std::string literal(double number, DType dtype);
/// `op` of operands that are values; `dtype` is the result's.
std::string map_expression(const Node& node, const std::vector<std::string>& operands, DType operand_type);
/// "[8, 16] float32".
std::string value_text(const Shape& shape, DType dtype);
std::string kernel_name(const WorkloadPlan& plan, int kernel);
/// Indents every line of `text` by `spaces`.
std::string indent(const std::string& text, int spaces);

}  // namespace ww::writer
