// SPDX-License-Identifier: Apache-2.0
//
// Which loops a rows kernel gets: dimensions are split where a reshape cuts through them and merged where all memory
// allows it, so that the vector loop is long.
#include <algorithm>

#include "writer/fuse.h"
#include "writer/rows_emitter.h"

namespace ww::writer {
namespace {

constexpr int64_t kLaneTile = 64;
constexpr int64_t kShortestInner = 512;  // elements below which one more loop moves into the row
constexpr int64_t kLongestTile = 4096;   // elements of an elementwise row: 16 KiB of float stay in the first cache
constexpr int64_t kPlentyOfRows = 64;    // rows that can be shared out evenly
constexpr int64_t kSmallestTile = 256;
constexpr int kMostSplits = 16;

}  // namespace

RowsEmitter::RowsEmitter(const WorkloadPlan& plan, int kernel)
    : plan_(plan),
      kernel_(kernel),
      rows_(std::get<RowsKernel>(plan.kernels[static_cast<size_t>(kernel)].work)),
      name_(kernel_name(plan, kernel)) {
  for (size_t i = 0; i < rows_.shape.size(); ++i) {
    const bool reduced = std::count(rows_.dims.begin(), rows_.dims.end(), static_cast<int64_t>(i)) > 0;
    const std::string name = "i" + std::to_string(i);
    dims_.push_back(Index::variable(name, 0, rows_.shape[i] - 1));
    if (rows_.shape[i] > 1) loops_.push_back({name, rows_.shape[i], reduced});
  }
  for (const Root& root : rows_.roots) {
    const int from = root.buffer >= 0 ? root.node : node(root.node).operands[0];
    passes_[stage(from)].push_back(root);
  }
  choose_loops();
}

// Passes that must have ended before the node can be computed.
size_t RowsEmitter::stage(int id) {
  if (plan_.given(id, kernel_)) return 0;
  if (const auto found = stages_.find(id); found != stages_.end()) return found->second;
  size_t latest = 0;
  for (const int operand : node(id).operands) latest = std::max(latest, stage(operand));
  const bool ends_pass = (node(id).kind == Kind::kReduce && !node(id).windowed) || node(id).kind == Kind::kScan;
  return stages_[id] = latest + (ends_pass ? 1 : 0);
}

Index RowsEmitter::loop_index(const Loop& loop) const { return Index::variable(loop.name, 0, loop.extent - 1); }

const RowsEmitter::Loop* RowsEmitter::vector_loop() const {
  return loops_.size() > outer_count_ ? &loops_.back() : nullptr;
}

int64_t RowsEmitter::lanes() const { return std::min(kLaneTile, loops_.back().extent); }

void RowsEmitter::choose_loops() {
  const bool any_reduced = std::any_of(loops_.begin(), loops_.end(), [](const Loop& loop) { return loop.reduced; });
  lanes_ = any_reduced && !loops_.back().reduced;
  choose_inner_loops();
  dry_run();
  for (int i = 0; i < kMostSplits && split_one_loop(); ++i) dry_run();
  while (merge_one_pair()) {
  }
  choose_inner_loops();
  dry_run();
}

// Reduced loops are inner. The order of loops is that of dimensions, but outer ones come first.
void RowsEmitter::choose_inner_loops() {
  outer_count_ = 0;
  tile_ = 0;
  if (loops_.empty()) return;
  if (!rows_.dims.empty()) {
    const auto last = lanes_ ? loops_.end() - 1 : loops_.end();
    const auto middle = std::stable_partition(loops_.begin(), last, [](const Loop& loop) { return !loop.reduced; });
    outer_count_ = static_cast<size_t>(middle - loops_.begin());
    if (lanes_) tile_ = lanes();
    return;
  }
  int64_t row_total = elements(rows_.shape), inner = 1;
  outer_count_ = loops_.size();
  while (outer_count_ > 0 && (outer_count_ == loops_.size() || inner < kShortestInner)) {
    const int64_t extent = loops_[outer_count_ - 1].extent;
    if (outer_count_ < loops_.size() && row_total / extent < kPlentyOfRows) break;
    inner *= extent;
    row_total /= extent;
    --outer_count_;
  }
  if (depth_count() != 1 || !breaks_.empty()) return;
  const int64_t extent = loops_.back().extent;
  const int64_t fair = (extent * row_total / kPlentyOfRows + 63) / 64 * 64;
  const int64_t tile = std::clamp(fair, kSmallestTile, kLongestTile);
  if (extent > tile && (row_total < kPlentyOfRows || extent > kLongestTile)) tile_ = tile;
}

void RowsEmitter::dry_run() {
  dry_ = true;
  breaks_.clear();
  do {
    more_breaks_ = false;
    emit_body();
  } while (more_breaks_);
  if (rows_.dims.empty()) choose_inner_loops();
}

void RowsEmitter::replace_loops(size_t first, size_t count, std::vector<Loop> fresh,
                                const std::map<std::string, Index>& replacements) {
  const auto at = loops_.begin() + static_cast<ptrdiff_t>(first);
  loops_.erase(at, at + static_cast<ptrdiff_t>(count));
  loops_.insert(loops_.begin() + static_cast<ptrdiff_t>(first), fresh.begin(), fresh.end());
  for (Index& dim : dims_) dim = dim.substitute(replacements);
  for (Index& address : addresses_) address = address.substitute(replacements);
}

bool RowsEmitter::split_one_loop() {
  for (const Index& address : addresses_) {
    const auto wish = address.split_wish();
    if (!wish) continue;
    for (size_t i = 0; i < loops_.size(); ++i) {
      const Loop loop = loops_[i];
      if (loop.name != wish->first || loop.extent % wish->second != 0) continue;
      const Loop high{loop.name + "h", loop.extent / wish->second, loop.reduced};
      const Loop low{loop.name + "l", wish->second, loop.reduced};
      replace_loops(i, 1, {high, low}, {{loop.name, loop_index(high) * low.extent + loop_index(low)}});
      choose_inner_loops();
      return true;
    }
  }
  return false;
}

// Two neighbours become one loop if no address needs to take it apart again.
bool RowsEmitter::merge_one_pair() {
  for (size_t i = loops_.size(); i-- > 1;) {
    const Loop high = loops_[i - 1], low = loops_[i];
    if (high.reduced != low.reduced) continue;
    const Loop merged{high.name + "_" + low.name.substr(1), high.extent * low.extent, low.reduced};
    const Index index = loop_index(merged);
    const std::map<std::string, Index> replacements{{high.name, quotient(index, low.extent)},
                                                    {low.name, remainder(index, low.extent)}};
    const bool whole = std::all_of(addresses_.begin(), addresses_.end(), [&](const Index& address) {
      const Index after = address.substitute(replacements);
      return after.text() == address.text() || !after.compound();
    });
    // Neighbours in the list are neighbours in memory order only if the kernel's own position stays affine.
    if (!whole || flatten(dims_, rows_.shape).substitute(replacements).compound()) continue;
    replace_loops(i - 1, 2, {merged}, replacements);
    return true;
  }
  return false;
}

}  // namespace ww::writer
