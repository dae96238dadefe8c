#include "runtime/plan/fold_norms.h"

#include <algorithm>

namespace ltr::plan {

namespace {

/// How a layer counts the channels that it gives: along an axis of its weight, in groups; those of its result are axis 1.
struct Channels {
  int64_t axis = 0, groups = 1;
};
Option<Channels> channels_of(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::linear:
      if (graph.values[node.results[0]].sizes.size() != 2) return std::nullopt;
      return Channels();
    case Op::conv1d:
    case Op::conv2d:
    case Op::conv3d: return Channels();
    case Op::conv_transpose1d:
    case Op::conv_transpose2d:
    case Op::conv_transpose3d: return Channels{1, node.host<int64_t>(6)};
    default: return std::nullopt;
  }
}

int64_t elements(const Value& value) {
  int64_t count = 1;
  for (const int64_t size : value.sizes) count *= size;
  return count;
}

class FoldNorms {
 public:
  explicit FoldNorms(Recording& recording)
      : graph_(recording.graph), reads_(graph_.values.size()), maker_(graph_.values.size(), kNowhere) {
    for (size_t at = 0; at < graph_.nodes.size(); ++at) {
      each_read(graph_.nodes[at], [&](ValueId id) { ++reads_[id]; });
      for (const ValueId id : graph_.nodes[at].results) {
        if (id != kNone) maker_[id] = at;
      }
    }
    for (const ValueId id : graph_.outputs) ++reads_[id];
    for (const GivenState& state : recording.states) {
      if (state.after != kNone) ++reads_[state.after];
    }
    for (const Mark& mark : recording.marks) {
      for (const ValueId id : read_by(mark.effect)) {
        if (id != kNone) ++reads_[id];
      }
    }
  }

  void run() {
    for (size_t at = 0; at < graph_.nodes.size(); ++at) {
      if (graph_.nodes[at].op == Op::batch_norm) fold(at);
    }
  }

 private:
  static constexpr size_t kNowhere = ~size_t(0);

  /// Arguments of both: x, weight and bias come first.
  void fold(size_t at) {
    const Node norm = graph_.nodes[at];
    const ValueId x = norm.value(0).id, mean = norm.value(3).id, var = norm.value(4).id;
    if (maker_[x] == kNowhere || reads_[x] != 1 || mean == kNone || var == kNone) return;
    const size_t before = maker_[x];
    const Node layer = graph_.nodes[before];
    const Option<Channels> channels = channels_of(graph_, layer);
    if (!channels) return;
    const ValueId weight = layer.value(1).id;
    if (elements(graph_.values[x]) < elements(graph_.values[weight])) return;
    // What the layer takes now is there before it; all of it is given, and stays what it is.
    for (const ValueId id : {weight, layer.value(2).id, norm.value(1).id, norm.value(2).id, mean, var}) {
      if (id != kNone && (maker_[id] != kNowhere || graph_.values[id].dtype != graph_.values[x].dtype)) return;
    }
    const auto made = [&](Ints sizes) {
      reads_.push_back(1);
      maker_.push_back(before);
      return graph_.add({.dtype = graph_.values[x].dtype, .sizes = std::move(sizes), .is_sized = true});
    };
    Node fold = norm;
    fold.op = Op::fold_norm;
    fold.arguments = {layer.arguments[1], layer.arguments[2], norm.arguments[1], norm.arguments[2], norm.arguments[3],
                      norm.arguments[4],  norm.arguments[7],  channels->axis,    channels->groups};
    fold.results = {made(Ints(graph_.values[weight].sizes)), made(Ints(graph_.values[mean].sizes))};
    Node folded = layer;
    folded.arguments[1] = ValueRef{fold.results[0]};
    folded.arguments[2] = ValueRef{fold.results[1]};
    folded.results = norm.results;
    graph_.nodes[before] = std::move(fold);
    graph_.nodes[at] = std::move(folded);
    maker_[norm.results[0]] = at;
  }

  Graph& graph_;
  std::vector<int> reads_;
  std::vector<size_t> maker_;  ///< nodes, by what they give
};

}  // namespace

void fold_norms(Recording& recording) {
  const auto trains = [](const Node& node) { return node.is_training; };
  if (std::ranges::any_of(recording.graph.nodes, trains)) return;
  // What is differentiated, or written on the way, is not known before it is there.
  for (const Mark& mark : recording.marks) {
    const bool differentiates =
        std::holds_alternative<Minimized>(mark.effect) || std::holds_alternative<BackwardOf>(mark.effect);
    if (differentiates || !written_by(mark.effect).empty()) return;
  }
  FoldNorms(recording).run();
}

}  // namespace ltr::plan
