#include "runtime/plan/needed_weights.h"

#include <algorithm>
#include <set>

namespace ltr::plan {

namespace {

/// Whether what it gives may lie in the memory of what it takes.
bool gives_view(Op op) {
  switch (op) {
    case Op::stop_grad:
    case Op::tracked:
    case Op::reshape:
    case Op::flatten:
    case Op::squeeze:
    case Op::unsqueeze:
    case Op::expand:
    case Op::permute:
    case Op::transpose:
    case Op::diagonal:
    case Op::slice:
    case Op::select:
    case Op::chunk:
    case Op::split: return true;
    default: return false;
  }
}

/// The weights among `kept`, and what shows them.
std::unordered_map<ValueId, const Tensor*> shown_weights(const Recording& recording) {
  std::unordered_map<const void*, const Tensor*> weights;  // one that is frozen here is a constant of the same memory
  for (const auto& [id, tensor] : recording.kept) {
    if (recording.graph.values[id].kind == Value::Kind::Weight) weights.emplace(tensor.impl(), &tensor);
  }
  std::unordered_map<ValueId, const Tensor*> shown;
  for (const auto& [id, tensor] : recording.kept) {
    if (const auto weight = weights.find(tensor.impl()); weight != weights.end()) shown.emplace(id, weight->second);
  }
  for (const Node& node : recording.graph.nodes) {
    if (!gives_view(node.op)) continue;
    const auto weight = shown.find(node.value(0).id);
    if (weight == shown.end()) continue;
    const Tensor* const of = weight->second;
    for (const ValueId id : node.results) shown.emplace(id, of);
  }
  return shown;
}

}  // namespace

std::vector<NeededWeight> needed_weights(const Recording& recording, size_t end, size_t begin,
                                         const std::vector<size_t>& of) {
  const std::unordered_map<ValueId, const Tensor*> shown = shown_weights(recording);
  const std::vector<Node>& nodes = recording.graph.nodes;
  std::set<std::pair<size_t, const Tensor*>> found;
  const auto look = [&](const Node& reader, size_t computed) {
    const auto is_in_front = [&](const Mark& mark) { return mark.end <= computed; };
    const auto mark = size_t(std::ranges::partition_point(recording.marks, is_in_front) - recording.marks.begin());
    each_read(reader, [&](ValueId id) {
      if (const auto weight = shown.find(id); weight != shown.end()) found.emplace(mark, weight->second);
    });
  };
  std::set<uint32_t> again;  // calls of blocks that are computed again for it
  for (size_t i = 0; i < of.size(); ++i) {
    look(nodes[begin + i], of[i]);
    again.insert(nodes[begin + i].block);
  }
  for (size_t at = 0; at < end; ++at) {
    if (nodes[at].block != 0 && again.contains(nodes[at].block)) look(nodes[at], at);
  }
  std::vector<NeededWeight> needed;
  for (const auto& [mark, weight] : found) needed.push_back({mark, weight});
  return needed;
}

}  // namespace ltr::plan
