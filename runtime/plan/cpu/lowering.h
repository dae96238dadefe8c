#pragma once

// From nodes of a graph to calls of kernels: what a node is made of, one file for each room of the library below lower/. What no room
// takes is computed by the reference, as a node.

#include <deque>
#include <map>
#include <set>

#include "runtime/plan/cpu/point_program.h"
#include "runtime/plan/cpu/row_sums.h"

namespace ltr::plan {

/// A piece of a plan: functions of elements, which others may join, a call, or a node that the reference runs.
struct Item {
  Option<PointProgram> point;
  Call call;
  Option<size_t> node;
  Location location;
};

class Lowering {
 public:
  /// All values of `graph` have sizes. `memory`: how weights, constants and inputs lie, by value. `samples` of the batch. `of_tables`:
  /// results of which sums for the rows that were read are enough. `narrows`: products round what they multiply to bf16.
  Lowering(const Graph& graph, const std::map<ValueId, Ints>& strides, int64_t samples, std::set<ValueId> of_tables,
           bool narrows);

  /// The nodes [begin, end), behind those that were lowered before. `may_be_left_out`: what they leave is for themselves alone.
  std::vector<Item> lower(size_t begin, size_t end, bool may_be_left_out = false);

  const Graph& graph() const { return graph_; }
  /// What multiplies matrices in this plan.
  const kernels::ProductKernel& products() const { return products_; }
  int64_t samples() const { return samples_; }
  const Layout& layout(ValueId id) const { return layouts_[id]; }
  DType dtype(ValueId id) const { return types_[id]; }
  /// Elements and types by root; those behind the values of the graph are of calls among themselves.
  const std::vector<int64_t>& elements() const { return elements_; }
  const std::deque<Layout>& layouts() const { return layouts_; }
  bool is_given(ValueId root) const {
    return root < graph_.values.size() && graph_.values[root].kind != Value::Kind::Result;
  }

  // What rooms call. `node` is the one that is lowered.
  const Node& node() const { return *node_; }
  ValueId argument(size_t at) const { return node_->value(at).id; }
  /// Whether all of these are floats of 32 bits.
  bool is_f32(std::initializer_list<ValueId> ids) const;
  /// Memory for `elements` of `dtype`, of no value.
  ValueId temporary(DType dtype, int64_t elements);
  /// The result `at`, side by side in memory of its own.
  ValueId result(size_t at = 0) const { return node_->results[at]; }
  /// An empty program over `sizes`, whose items follow with `add`.
  static PointProgram program(Ints sizes) { return {.sizes = std::move(sizes)}; }
  PointProgram::Ref load(PointProgram& program, ValueId id) { return program.load(layouts_[id], types_[id]); }
  void add(PointProgram program);
  void add(Call call);
  /// For people: why the calls that follow multiply by the kernel that they have.
  void because(Str why) { why_ = std::move(why); }
  /// For people: why the call that was added last is the one that it is.
  void explain(Str why, Str why_split = {}) {
    items_.back().call.why = std::move(why);
    items_.back().call.why_split = std::move(why_split);
  }
  /// The result `at` lies so, in its own memory.
  void lay_out(size_t at, Layout layout) { layouts_[node_->results[at]] = std::move(layout); }
  /// `layout` with its elements side by side, copied where they are not.
  Layout side_by_side(const Layout& layout, DType dtype);
  Touched touched(const Layout& layout, bool is_own) const;
  bool is_apart(const Layout& layout) const { return has_samples_apart(layout, elements_[layout.root], samples_); }
  /// Whether the first result may be sums for rows; and that it is.
  bool may_be_row_sums() const { return of_tables_.contains(result()); }
  void give_row_sums(const RowSums& sums);
  /// Null where the value is whole.
  const RowSums* row_sums(ValueId id) const;
  /// What a call leaves for another one: roots, under a name that both know, which says from what they were computed. Of weights and buffers
  /// that is not enough behind a write.
  void leave(std::vector<Argument> key, std::vector<ValueId> roots);
  /// Null where nothing was left.
  const std::vector<ValueId>* left(const std::vector<Argument>& key) const;
  /// left [m, k] · right [k, n] + bias [n], which may have no root, side by side in `out`.
  void product(const Layout& left, const Layout& right, const Layout& bias, ValueId out);
  /// Likewise of many: left [axes…, m, k] · right [axes…, k, n], of which each may have axes that stretch.
  void batch_product(const Layout& left, const Layout& right, ValueId out);
  /// The panels of a right side, made once for all products of these nodes that read it.
  ValueId panels(const Layout& matrix);

 private:
  const Graph& graph_;
  const kernels::ProductKernel& products_;
  int64_t samples_;
  const Node* node_ = nullptr;
  std::deque<Layout> layouts_;  // What a room holds of one stays where it is, whatever it adds.
  std::vector<DType> types_;
  std::vector<int64_t> elements_;
  std::vector<Item> items_;
  Str why_;
  std::set<ValueId> of_tables_;
  std::map<ValueId, RowSums> row_sums_;
  std::vector<std::pair<Layout, ValueId>> panels_;
  std::vector<std::pair<std::vector<Argument>, std::vector<ValueId>>> left_;
};

/// True if it gave the node's results; false, with nothing added, if the reference has to.
using Room = bool (*)(Lowering& to);
bool lower_elements(Lowering& to);
bool lower_product(Lowering& to);
bool lower_convolution(Lowering& to);
bool lower_rows(Lowering& to);
bool lower_classes(Lowering& to);
bool lower_attention(Lowering& to);
bool lower_rotation(Lowering& to);
bool lower_whole(Lowering& to);
bool lower_shape(Lowering& to);
bool lower_pool(Lowering& to);
bool lower_norm(Lowering& to);
bool lower_recurrent(Lowering& to);
bool lower_reduction(Lowering& to);
bool lower_loss(Lowering& to);
bool lower_index(Lowering& to);
bool lower_order(Lowering& to);
bool lower_draw(Lowering& to);
bool lower_resample(Lowering& to);
bool lower_counts(Lowering& to);
bool lower_einsum(Lowering& to);
bool lower_pairs(Lowering& to);
bool lower_cumulative(Lowering& to);
bool lower_rnn(Lowering& to);
bool lower_volume(Lowering& to);
bool lower_ctc(Lowering& to);
bool lower_types(Lowering& to);

/// Joins functions of elements with those whose results they read.
void fuse(std::vector<Item>& items);

}  // namespace ltr::plan
