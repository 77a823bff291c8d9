// SPDX-License-Identifier: Apache-2.0
//
// RowsEmitter: one rows kernel as a C++ function over a range of rows. Private to emit_rows.cc, rows_loops.cc and
// rows_values.cc.
//
// The kernel's dimensions become loops: outer ones are folded into `row`, inner ones are nested, the last one
// vectorises. Where the reduced dimensions are not the last ("lanes"), the vector loop runs over a tile of neighbouring
// rows instead and every per-row value is an array of kLanes. A row is done in passes: a pass computes what needs only
// reductions of the passes before it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "writer/emit.h"

namespace ww::writer {

class RowsEmitter {
 public:
  RowsEmitter(const WorkloadPlan& plan, int kernel);
  KernelSource emit();

 private:
  struct Loop {
    std::string name;
    int64_t extent = 1;
    bool reduced = false;
  };
  /// Where a value changes: with the loops down to `level` (0: per row), and along the lanes.
  struct Depth {
    size_t level = 0;
    bool lane = false;
  };
  struct Value {
    std::string text;
    Depth depth;
    DType type = DType::kFloat32;
  };
  struct ScratchRow {
    std::string name;
    DType type = DType::kFloat32;
    int64_t count = 0;
    bool raw = false;  ///< in the memory type rather than in the computing type
  };

  // rows_loops.cc: which loops there are.
  void choose_loops();
  bool split_one_loop();
  bool merge_one_pair();
  void replace_loops(size_t first, size_t count, std::vector<Loop> fresh,
                     const std::map<std::string, Index>& replacements);
  void choose_inner_loops();
  void dry_run();
  Index loop_index(const Loop& loop) const;
  const Loop* vector_loop() const;
  size_t depth_count() const { return loops_.size() - outer_count_; }
  int64_t lanes() const;

  // emit_rows.cc: passes and text.
  void emit_body();
  void emit_pass(size_t pass);
  void emit_nest(const std::vector<Root>& roots, int64_t low, int64_t high);
  void emit_root(const Root& root);
  void emit_reduction(const Root& root);
  void emit_scan(const Root& root);
  void emit_store(const Root& root);
  /// Pointer to the row that the root is stored to, "" where it is stored directly.
  std::string staged_target(const Root& root);
  std::string nest_text(const std::vector<Root>& roots, int64_t low, int64_t high);
  std::string inner_loop_text(const std::vector<Root>& roots, int64_t low, int64_t high);
  void declare_accumulators(const std::vector<Root>& roots);
  void finish_pass(const std::vector<Root>& roots);
  std::string row_header() const;
  std::string parameters() const;
  std::string call_text() const;
  size_t stage(int id);
  bool partial_sums(const std::vector<Root>& roots) const;
  std::string comment() const;

  // rows_values.cc: expressions.
  Value value(int id, const Indices& at);
  Value compute(int id, const Indices& at);
  Value load(int id, const Indices& at);
  Value map_value(int id, const Indices& at);
  Value cat_value(int id, const Indices& at);
  Value pad_value(int id, const Indices& at);
  Value gather_value(int id, const Indices& at);
  Value window_value(int id, const Indices& at);
  Value reduction_value(int id) const;
  Value saved_value(int id);
  Value define(DType type, const std::string& expression, Depth depth);
  Value choose(const Value& condition, const Value& yes, const Value& no, DType type);
  void add_line(Depth depth, const std::string& line);
  bool at_place(int id, const Indices& at) const;
  Depth depth_of(const Index& index) const;
  static Depth deeper(Depth a, Depth b) { return {std::max(a.level, b.level), a.lane || b.lane}; }
  size_t place(Depth depth) const;
  /// Tells whether low <= index < high; asks for a break of the vector loop where that would tell.
  enum class Inside { kYes, kNo, kUnknown };
  Inside inside(const Index& index, int64_t low, int64_t high);
  Value clamped(const Index& index, int64_t extent, Index& position);
  std::string scratch_row(const std::string& name, DType type, bool raw);
  std::string local_position() const;
  Index local_index() const;

  const Node& node(int id) const { return plan_.node(id); }

  const WorkloadPlan& plan_;
  int kernel_;
  const RowsKernel& rows_;
  std::string name_;

  std::vector<Loop> loops_;  ///< in the order of dimensions; the first outer_count_ are folded into `row`
  size_t outer_count_ = 0;
  Indices dims_;  ///< positions of the kernel's dimensions
  bool lanes_ = false;
  int64_t tile_ = 0;  ///< elements of the vector loop per row; 0: all of them
  std::map<size_t, std::vector<Root>> passes_;
  std::map<int, size_t> stages_;

  // Of the body being emitted.
  bool dry_ = true;
  std::vector<Index> addresses_;  ///< everything that was addressed or compared
  std::set<int64_t> breaks_;      ///< of the vector loop
  bool more_breaks_ = false;
  size_t pass_ = 0;
  Index vector_index_;  ///< of the segment being emitted
  Indices position_;    ///< dims_ in that segment
  int next_name_ = 0;
  std::map<std::string, Value> row_memo_, nest_memo_;
  std::map<std::string, Depth> opaque_;  ///< names of values used as positions
  std::map<int, size_t> first_pass_;     ///< of expensive values
  std::set<int> saved_;
  std::vector<ScratchRow> scratch_;
  std::map<int, std::string> staged_;    ///< root buffer: scratch row
  std::vector<std::string> level_text_;  ///< by place; the last place is the prologue over lanes
  std::string body_;
};

}  // namespace ww::writer
