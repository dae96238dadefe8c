#pragma once

// Runs any graph, node by node, with the functions that the step itself would call, below autograd and on any device: what
// every other way to run a graph is compared with.

#include <unordered_map>

#include "runtime/plan/graph.h"

namespace ltr::plan {

/// The values of a graph while it runs.
class Reference {
 public:
  Reference(const Graph& graph, const std::unordered_map<ValueId, Tensor>& constants);

  /// What an input or weight is from now on.
  void set(ValueId id, const Tensor& value) { values_[id] = value; }
  const Tensor& value(ValueId id) const { return values_[id]; }
  /// The node that runs, or ran last.
  size_t position() const { return position_; }
  /// What each node needs last goes behind it, so that memory is used again.
  void forget_behind(std::vector<std::vector<ValueId>> values) { forgotten_ = std::move(values); }
  /// Sizes of what runs from now on are noted in `graph`, which is the one that it runs; null: no more.
  void note_sizes(Graph* graph) { noted_ = graph; }
  /// From now on zeros stand for all numbers whose sizes are known, and nothing is computed for them: for what looks for sizes alone.
  void leave_out_what_is_sized() { leaves_out_sized_ = true; }
  /// From now on nodes run with autograd, where one of their results needs a gradient.
  void run_with_autograd() { has_autograd_ = true; }
  /// Whether autograd goes through `node`.
  bool needs_grad(const Node& node) const;
  /// Nothing is there but `constants`.
  void clear(const std::unordered_map<ValueId, Tensor>& constants);
  /// Runs nodes `begin` to `end`; draws come from the key of this thread, each at its own site. Errors are those of the functions,
  /// at the `.ltr` line of the node.
  void run(size_t begin, size_t end);

 private:
  void note(const Node& node);
  bool leaves_out(const Node& node);

  const Graph& graph_;
  Graph* noted_ = nullptr;
  bool leaves_out_sized_ = false;
  size_t position_ = 0;
  bool has_autograd_ = false;
  std::vector<Tensor> values_;
  std::vector<std::vector<ValueId>> forgotten_;
};

}  // namespace ltr::plan
