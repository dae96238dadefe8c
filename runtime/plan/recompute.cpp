#include "runtime/plan/recompute.h"

#include <map>

namespace ltr::plan {

namespace {

class ComputeAgain {
 public:
  ComputeAgain(Graph& graph, size_t end, const std::set<ValueId>& written) : graph_(graph) {
    for (size_t at = 0; at < end; ++at) {
      const Node& node = graph.nodes[at];
      bool reads_written = false;
      each_read(node, [&](ValueId id) { reads_written = reads_written || written.contains(id); });
      // Only of a buffer that somebody writes a copy is read. A hook may do so that stands in no recording.
      const bool is_of_buffer = node.op == Op::clone && graph.values[node.value(0).id].kind == Value::Kind::Constant;
      if (node.block == 0 || reads_written || is_of_buffer) continue;
      for (const ValueId id : node.results) giver_[id] = at;
    }
  }

  void run(size_t begin) {
    if (giver_.empty()) return;
    std::vector<Node> behind(std::make_move_iterator(graph_.nodes.begin() + ptrdiff_t(begin)),
                             std::make_move_iterator(graph_.nodes.end()));
    graph_.nodes.resize(begin);
    for (const Node& node : behind) {
      if (node.block != 0) need(node, node.block);
    }
    std::set<uint32_t> done;
    for (Node& node : behind) {
      if (node.block != 0) {
        if (done.insert(node.block).second) copy(node.block);
        rename(node, node.block);
      }
      graph_.nodes.push_back(std::move(node));
    }
  }

 private:
  /// The node of the call `block` that gives `id`; what the call was given comes from none.
  Option<size_t> giver_in(ValueId id, uint32_t block) const {
    const auto found = giver_.find(id);
    if (found == giver_.end() || graph_.nodes[found->second].block != block) return std::nullopt;
    return found->second;
  }

  void need(const Node& reader, uint32_t block) {
    each_read(reader, [&](ValueId id) {
      const Option<size_t> giver = giver_in(id, block);
      if (giver && needed_[block].insert(*giver).second) need(graph_.nodes[*giver], block);
    });
  }

  void copy(uint32_t block) {
    for (const size_t at : needed_[block]) {
      Node again = graph_.nodes[at];
      rename(again, block);
      // Running averages have taken the batch in.
      if (again.op == Op::batch_norm && again.is_training) {
        for (size_t running = 3; running < 6; ++running) again.arguments[running] = ValueRef{kNone};
      }
      for (ValueId& id : again.results) {
        if (id != kNone) id = copies_[id] = graph_.add(graph_.values[id]);
      }
      graph_.nodes.push_back(std::move(again));
    }
  }

  void rename(Node& node, uint32_t block) const {
    const auto renamed = [&](ValueRef& value) {
      if (value.id == kNone || !giver_in(value.id, block)) return;
      value.id = copies_.at(value.id);
    };
    for (Argument& argument : node.arguments) {
      if (auto* value = std::get_if<ValueRef>(&argument)) renamed(*value);
      if (auto* list = std::get_if<std::vector<ValueRef>>(&argument)) {
        for (ValueRef& value : *list) renamed(value);
      }
    }
  }

  Graph& graph_;
  std::map<ValueId, size_t> giver_;              ///< of values of such calls: their nodes
  std::map<uint32_t, std::set<size_t>> needed_;  ///< nodes of a call that are copied, in order
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

void compute_again(Graph& graph, size_t end, size_t begin, const std::set<ValueId>& written) {
  ComputeAgain(graph, end, written).run(begin);
}

}  // namespace ltr::plan
