// SPDX-License-Identifier: Apache-2.0
//
// Fuser: assigns every node of a program to kernels. Private to plan.cc and fuse*.cc.
//
// Invariants:
// 1. A node's `home_` is the rows kernel inside which its value at a loop position needs only that position's
// reductions;
//    -1: it can be computed anywhere from memory.
// 2. A kernel reads only buffers given to the workload or produced by kernels before it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "writer/plan.h"

namespace ww::writer {

class Fuser {
 public:
  Fuser(WorkloadPlan& plan, const PlanOptions& options);
  /// Fills kernels and buffers.
  void run();

 private:
  void count_users();
  void place_element(int id);
  void place_reduction(int id);
  void place_contraction(int id);
  void place_bag(int id);
  void place_outputs();

  int home_for(int id, int operand);
  /// The buffer of the node, or of what it is a view of.
  int materialize(int id);
  /// A buffer of the node itself: in its home, in a kernel over the same memory, or in one of its own.
  int store(int id);
  int store_alone(int id);
  int store_in(int kernel, int id);
  int new_buffer(int id, int producer, Place place = Place::kWorkspace);
  int new_kernel(Kernel kernel);
  void separate_origins(int id);
  bool heavy(int id) const;

  bool same_space(int id, const RowsKernel& rows) const;
  bool joinable(int id, int kernel);
  bool reachable(int id, const Indices& at, int kernel, std::set<std::string>& seen);
  bool reachable_window(const Node& window, const Indices& at, int kernel, std::set<std::string>& seen);
  bool shares_input(int id, int kernel) const;

  std::optional<Operand> strided(int id) const;
  Operand operand(int id);
  void absorb_epilogue(ContractionKernel& kernel, int& last);
  static bool append_epilogue(ContractionKernel& kernel, const Epilogue& step);
  bool absorb_map(ContractionKernel& kernel, int user, int last);
  std::optional<Epilogue> binary_epilogue(const Node& user, int other, const Shape& shape) const;
  std::optional<double> scalar(int id) const;
  int strip_reshapes(int id) const;

  const Node& node(int id) const { return plan_.node(id); }
  RowsKernel* rows(int kernel) { return std::get_if<RowsKernel>(&plan_.kernels[static_cast<size_t>(kernel)].work); }
  int& home(int id) { return home_[static_cast<size_t>(id)]; }
  int& buffer_of(int id) { return plan_.buffer_of[static_cast<size_t>(id)]; }
  int buffer_of(int id) const { return plan_.buffer_of[static_cast<size_t>(id)]; }

  WorkloadPlan& plan_;
  PlanOptions options_;
  std::vector<int> home_;
  std::vector<std::vector<int>> users_;
  std::vector<bool> live_, absorbed_;
  std::set<int> returned_;  ///< nodes that are graph outputs
};

/// Loop variables of a rows kernel, i0.. by dimension.
Indices loop_variables(const Shape& shape);
/// Position of a row among rows: the dimensions not in `dims`.
Index row_position(const RowsKernel& rows, const Indices& variables);
int64_t row_count(const RowsKernel& rows);
/// Where the node stands at a loop position: as an element of the whole space, else as one value per row.
Indices position_of(const Node& node, const RowsKernel& rows, const Indices& variables);
/// True if a view only renames positions.
bool is_reshape(const Node& view, const Node& operand);
/// Functions that cost more than a load.
bool expensive(const std::string& op);

}  // namespace ww::writer
