#include "runtime/plan/differentiate.h"

#include <algorithm>
#include <map>

#include "runtime/api/error.h"
#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

class Backward {
 public:
  explicit Backward(Graph& graph) : graph_(graph) {}

  Differentiated run(size_t end, ValueId loss, ValueId seed, const std::vector<ValueId>& by) {
    Differentiated result;
    const size_t begin = graph_.nodes.size();
    gradients_[loss] = seed;
    for (size_t at = end; at-- > 0;) {
      const Node node = graph_.nodes[at];
      std::vector<ValueId> gradients;
      bool is_reached = false;
      for (const ValueId id : node.results) {
        const auto found = gradients_.find(id);
        const bool flows = found != gradients_.end() && id != kNone && graph_.values[id].needs_grad;
        gradients.push_back(flows ? found->second : kNone);
        is_reached = is_reached || flows;
      }
      if (!is_reached) continue;
      const Rule rule = rule_of(node.op);
      if (rule == nullptr) {
        result.refusal.emplace(refused(node), node.location);
        return result;
      }
      const size_t before = graph_.nodes.size();
      Step step(graph_, node, std::move(gradients));
      rule(step);
      for (size_t i = before; i < graph_.nodes.size(); ++i) graph_.nodes[i].block = node.block;
      of_.resize(graph_.nodes.size() - begin, at);
      if (!step.says_all()) {
        result.refusal.emplace(refused(node), node.location);
        return result;
      }
      take(node, step);
      of_.resize(graph_.nodes.size() - begin, at);
    }
    result.of = std::move(of_);
    for (const ValueId id : by) {
      const auto found = gradients_.find(id);
      result.gradients.push_back(found != gradients_.end() ? found->second : kNone);
    }
    return result;
  }

 private:
  static Str refused(const Node& node) { return fmt::format("the gradient of `{}` has no plan", name_of(node.op)); }

  void take(const Node& node, const Step& step) {
    for (size_t at = 0; at < node.arguments.size(); ++at) {
      const std::vector<ValueId>& found = step.found()[at];
      if (found.empty()) continue;
      if (const auto* one = std::get_if<ValueRef>(&node.arguments[at])) add(one->id, found[0], node.location);
      if (const auto* list = std::get_if<std::vector<ValueRef>>(&node.arguments[at])) {
        for (size_t i = 0; i < found.size(); ++i) add((*list)[i].id, found[i], node.location);
      }
    }
  }

  void add(ValueId of, ValueId gradient, const Location& location) {
    if (gradient == kNone || of == kNone) return;
    note_sizes(of, gradient);
    if (!graph_.values[of].needs_grad) return;
    const auto [known, is_first] = gradients_.try_emplace(of, gradient);
    if (is_first) return;
    Builder builder(graph_, location);
    known->second = builder.call(Op::add, graph_.values[of].dtype, {ValueRef{known->second}, ValueRef{gradient}});
    note_sizes(of, known->second);
  }

  /// A gradient is as large as what it is of.
  void note_sizes(ValueId of, ValueId gradient) {
    const Value value = graph_.values[of];
    Value& found = graph_.values[gradient];
    if (found.is_sized || !value.is_sized || found.dtype != value.dtype) return;
    found.sizes = value.sizes;
    found.is_sized = true;
  }

  Graph& graph_;
  std::map<ValueId, ValueId> gradients_;
  std::vector<size_t> of_;
};

/// Of the nodes from `begin` on only those stay that lead to one of the gradients: not the gradients of weights that others train.
void keep_needed(Graph& graph, size_t begin, Differentiated& found) {
  std::vector<bool> is_needed(graph.values.size());
  const auto need = [&](ValueId id) {
    if (id != kNone) is_needed[id] = true;
  };
  for (const ValueId id : found.gradients) need(id);
  std::vector<Node> kept;
  std::vector<size_t> of;
  for (size_t at = graph.nodes.size(); at-- > begin;) {
    Node& node = graph.nodes[at];
    const auto leads = [&](ValueId id) { return id != kNone && is_needed[id]; };
    if (std::none_of(node.results.begin(), node.results.end(), leads)) continue;
    for (const Argument& argument : node.arguments) {
      if (const auto* one = std::get_if<ValueRef>(&argument)) need(one->id);
      if (const auto* list = std::get_if<std::vector<ValueRef>>(&argument)) {
        for (const ValueRef value : *list) need(value.id);
      }
    }
    kept.push_back(std::move(node));
    of.push_back(found.of[at - begin]);
  }
  graph.nodes.resize(begin);
  std::move(kept.rbegin(), kept.rend(), std::back_inserter(graph.nodes));
  found.of.assign(of.rbegin(), of.rend());
}

}  // namespace

Differentiated differentiate(Graph& graph, size_t end, ValueId loss, ValueId seed, const std::vector<ValueId>& by) {
  const size_t begin = graph.nodes.size();
  Differentiated result = Backward(graph).run(end, loss, seed, by);
  keep_needed(graph, begin, result);
  return result;
}

ValueId Builder::call(Op op, DType element, std::vector<Argument> arguments) {
  return call(op, element, 1, std::move(arguments)).front();
}

std::vector<ValueId> Builder::call(Op op, DType element, size_t count, std::vector<Argument> arguments) {
  Node node;
  node.op = op;
  node.arguments = std::move(arguments);
  node.location = location_;
  for (size_t i = 0; i < count; ++i) {
    Value value;
    value.dtype = element;
    node.results.push_back(graph_.add(std::move(value)));
  }
  std::vector<ValueId> results = node.results;
  graph_.nodes.push_back(std::move(node));
  return results;
}

int64_t Term::count() const {
  int64_t count = 1;
  for (const int64_t size : sizes()) count *= size;
  return count;
}

ValueId Step::redrawn(Op op, size_t count, std::vector<Argument> arguments) {
  const ValueId result = builder_.call(op, gradient().dtype(), count, std::move(arguments)).front();
  Node& drawn = builder_.graph().nodes.back();
  drawn.site = node_.site;
  drawn.is_training = node_.is_training;
  return result;
}

bool Step::wants(size_t at) const {
  const Graph& graph = builder_.graph();
  const auto needs = [&](ValueRef value) { return value.id != kNone && graph.values[value.id].needs_grad; };
  if (const auto* one = std::get_if<ValueRef>(&node_.arguments[at])) return needs(*one);
  const auto* list = std::get_if<std::vector<ValueRef>>(&node_.arguments[at]);
  return list != nullptr && std::any_of(list->begin(), list->end(), needs);
}

bool Step::says_all() const {
  for (size_t at = 0; at < found_.size(); ++at) {
    if (found_[at].empty() && wants(at)) return false;
  }
  return true;
}

void Step::give(size_t at, const Term& gradient) { found_[at] = {gradient.id()}; }

void Step::give_summed(size_t at, const Term& gradient) {
  const Ints& sizes = in(at).sizes();
  give(at, sizes == out().sizes() ? gradient : gradient.call(Op::sum_to, sizes));
}

void Step::give(size_t at, std::vector<Term> gradients) {
  for (const Term& gradient : gradients) found_[at].push_back(gradient.id());
}

}  // namespace ltr::plan
