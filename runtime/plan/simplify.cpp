#include "runtime/plan/simplify.h"

#include <algorithm>
#include <map>

namespace ltr::plan {

namespace {

/// The running averages and the count of a batch norm, which one in training writes.
constexpr size_t kRunning = 3, kBehindRunning = 6;

bool writes_averages(const Node& node) {
  if (node.op != Op::batch_norm || !node.is_training) return false;
  const auto is_there = [](const Argument& argument) { return std::get<ValueRef>(argument).id != kNone; };
  return std::any_of(node.arguments.begin() + kRunning, node.arguments.begin() + kBehindRunning, is_there);
}

class Simplify {
 public:
  explicit Simplify(Graph& graph)
      : graph_(graph),
        is_left_out_(graph.nodes.size()),
        is_written_(graph.values.size()),
        is_kept_(graph.values.size()) {
    for (const Node& node : graph.nodes) {
      if (!writes_averages(node)) continue;
      for (size_t at = kRunning; at < kBehindRunning; ++at) note(is_written_, node.value(at).id);
    }
    for (const ValueId id : graph.outputs) note(is_kept_, id);
    for (ValueId id = 0; id < graph.values.size(); ++id) stands_for_.push_back(id);
  }

  std::vector<size_t> run(const std::vector<SimplifiedStretch>& stretches) {
    for (const SimplifiedStretch& stretch : stretches) {
      for (const ValueId id : stretch.kept) note(is_kept_, id);
    }
    for (const SimplifiedStretch& stretch : stretches) {
      Known known_before;
      if (stretch.may_be_left_out) known_before = known_;
      for (size_t at = stretch.begin; at < stretch.end; ++at) look_at(at);
      if (stretch.may_be_left_out) known_ = std::move(known_before);
      if (stretch.writes_behind) known_.clear();
    }
    return without_left_out();
  }

 private:
  /// Nodes by their op and what they take first, which is enough to look at few.
  using Known = std::map<std::pair<Op, ValueId>, std::vector<size_t>>;

  static void note(std::vector<bool>& list, ValueId id) {
    if (id != kNone) list[id] = true;
  }

  void look_at(size_t at) {
    Node& node = graph_.nodes[at];
    rename(node);
    const bool may_join = !node.site && node.block == 0 && !writes_averages(node);
    bool reads_written = false;
    ValueId first = kNone;
    each_read(node, [&](ValueId id) {
      reads_written = reads_written || is_written_[id];
      if (first == kNone) first = id;
    });
    // What such a node gives may lie in the memory that is written.
    if (reads_written && node.op != Op::batch_norm) {
      for (const ValueId id : node.results) note(is_written_, id);
    }
    if (!may_join || reads_written) return;
    std::vector<size_t>& others = known_[{node.op, first}];
    for (const size_t other : others) {
      if (does_the_same(graph_.nodes[other], node)) return leave_out(at, graph_.nodes[other]);
    }
    others.push_back(at);
  }

  void rename(Node& node) const {
    const auto renamed = [&](ValueRef& value) {
      if (value.id != kNone) value.id = stands_for_[value.id];
    };
    for (Argument& argument : node.arguments) {
      if (auto* value = std::get_if<ValueRef>(&argument)) renamed(*value);
      if (auto* list = std::get_if<std::vector<ValueRef>>(&argument)) {
        for (ValueRef& value : *list) renamed(value);
      }
    }
  }

  bool does_the_same(const Node& other, const Node& node) const {
    if (other.arguments != node.arguments || other.is_training != node.is_training) return false;
    const auto is_same = [&](ValueId theirs, ValueId own) {
      if (theirs == kNone || own == kNone) return theirs == own;
      return !is_kept_[own] && graph_.values[theirs].dtype == graph_.values[own].dtype;
    };
    return std::equal(other.results.begin(), other.results.end(), node.results.begin(), node.results.end(), is_same);
  }

  void leave_out(size_t at, const Node& other) {
    is_left_out_[at] = true;
    const Node& node = graph_.nodes[at];
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] == kNone) continue;
      stands_for_[node.results[i]] = other.results[i];
      const Value& own = graph_.values[node.results[i]];
      Value& theirs = graph_.values[other.results[i]];
      if (!own.is_sized || theirs.is_sized) continue;
      theirs.sizes = own.sizes;
      theirs.is_sized = true;
    }
  }

  std::vector<size_t> without_left_out() {
    std::vector<size_t> places;
    std::vector<Node> kept;
    for (size_t at = 0; at < graph_.nodes.size(); ++at) {
      places.push_back(kept.size());
      if (!is_left_out_[at]) kept.push_back(std::move(graph_.nodes[at]));
    }
    places.push_back(kept.size());
    graph_.nodes = std::move(kept);
    return places;
  }

  Graph& graph_;
  Known known_;
  std::vector<bool> is_left_out_;  ///< nodes
  std::vector<bool> is_written_;   ///< averages, and what may lie in their memory
  std::vector<bool> is_kept_;
  std::vector<ValueId> stands_for_;
};

}  // namespace

std::vector<size_t> simplify(Graph& graph, const std::vector<SimplifiedStretch>& stretches) {
  return Simplify(graph).run(stretches);
}

}  // namespace ltr::plan
