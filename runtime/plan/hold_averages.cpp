#include "runtime/plan/hold_averages.h"

#include <map>

namespace ltr::plan {

namespace {

constexpr size_t kMean = 3, kVar = 4;

}  // namespace

void hold_averages(Recording& recording) {
  Graph& graph = recording.graph;
  std::map<ValueId, size_t> moved;  // averages, and the last node that moves them
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    const Node& node = graph.nodes[at];
    if (node.op != Op::batch_norm || !node.is_training) continue;
    for (const size_t argument : {kMean, kVar}) moved[node.value(argument).id] = at;
  }
  const auto is_held = [&](size_t at) {
    const Node& node = graph.nodes[at];
    const bool is_read_again = node.block != 0 || graph.values[node.results[0]].needs_grad;
    if (node.op != Op::batch_norm || node.is_training || !is_read_again) return false;
    const auto found = moved.find(node.value(kMean).id);
    return found != moved.end() && found->second > at;
  };
  std::vector<Node> nodes;
  std::vector<size_t> places;
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    places.push_back(nodes.size());
    Node node = graph.nodes[at];
    for (const size_t argument : {kMean, kVar}) {
      if (!is_held(at)) break;
      const ValueId id = node.value(argument).id;
      Node copy;
      copy.op = Op::clone;
      copy.arguments = {ValueRef{id}};
      copy.results = {graph.add({.dtype = graph.values[id].dtype, .sizes = graph.values[id].sizes, .is_sized = true})};
      copy.location = node.location;
      node.arguments[argument] = ValueRef{copy.results[0]};
      nodes.push_back(std::move(copy));
    }
    nodes.push_back(std::move(node));
  }
  places.push_back(nodes.size());
  graph.nodes = std::move(nodes);
  for (Mark& mark : recording.marks) mark.end = places[mark.end];
}

}  // namespace ltr::plan
