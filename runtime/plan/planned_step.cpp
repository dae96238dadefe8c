#include "runtime/plan/planned_step.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include "runtime/plan/differentiate.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"

namespace ltr::plan {

namespace {

/// Between a loss and the weights that it trains: so accumulation, clipping, gates and hooks take a plan's gradients as they take
/// any other.
struct GradientOfPlan : public torch::autograd::Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    const DrawScope draws({key, 0});  // This may be a thread of autograd.
    const Tensors found = step->gradients(part, give(gradients[0]));
    return aten(found);
  }
  std::string name() const override { return "GradientOfPlan"; }

  PlannedStep* step = nullptr;
  size_t part = 0;
  uint64_t key = 0;
};

template <class Each>
void each_read(const Node& node, const Each& each) {
  for (const Argument& argument : node.arguments) {
    if (const auto* one = std::get_if<ValueRef>(&argument)) each(one->id);
    if (const auto* list = std::get_if<std::vector<ValueRef>>(&argument)) {
      for (const ValueRef value : *list) each(value.id);
    }
  }
}

}  // namespace

PlannedStep::PlannedStep(Recording recording)
    : recording_(std::move(recording)), forward_end_(recording_.graph.nodes.size()) {
  for (const Node& node : recording_.graph.nodes) {
    if (node.op == Op::grad && !recording_.refusal)
      recording_.refusal = Refusal{"takes a gradient inside of it", node.location};
  }
  if (!recording_.refusal) differentiate_marks();
  if (recording_.refusal) return;
  deaths_ = deaths();
  reference_.emplace(recording_.graph, recording_.kept);
  reference_->forget_behind(deaths_.behind_node);
}

void PlannedStep::differentiate_marks() {
  Graph& graph = recording_.graph;
  for (const Mark& mark : recording_.marks) {
    const auto* minimized = std::get_if<Minimized>(&mark.effect);
    const auto* backward = std::get_if<BackwardOf>(&mark.effect);
    if (minimized == nullptr && backward == nullptr) {
      part_of_.emplace_back();
      continue;
    }
    std::vector<ValueId> by;
    for (const ValueId id : minimized != nullptr ? minimized->by : backward->by) {
      if (graph.values[id].needs_grad) by.push_back(id);
    }
    Part part;
    part.loss = minimized != nullptr ? minimized->loss : backward->loss;
    part.seed = graph.add({.kind = Value::Kind::Input,
                           .dtype = graph.values[part.loss].dtype,
                           .name = fmt::format("seed{}", parts_.size())});
    part.begin = graph.nodes.size();
    const Differentiated found = differentiate(graph, mark.end, part.loss, part.seed, by);
    if (found.refusal) {
      recording_.refusal =
          Refusal{"computes something whose gradient no plan has: " + found.refusal->first, found.refusal->second};
      return;
    }
    part.end = graph.nodes.size();
    for (size_t i = 0; i < by.size(); ++i) {
      if (found.gradients[i] == kNone) continue;
      part.weights.push_back(recording_.kept.at(by[i]));
      part.gradients.push_back(found.gradients[i]);
    }
    part_of_.emplace_back(parts_.size());
    parts_.push_back(std::move(part));
  }
}

/// Every value goes with its last reader: looked for from the end of the step.
PlannedStep::Deaths PlannedStep::deaths() const {
  const Graph& graph = recording_.graph;
  Deaths deaths;
  deaths.behind_node.resize(graph.nodes.size());
  deaths.behind_mark.resize(recording_.marks.size());
  deaths.behind_part.resize(parts_.size());
  std::vector<bool> is_read(graph.values.size());
  const auto dies = [&](ValueId id, std::vector<ValueId>& list) {
    if (id == kNone || is_read[id]) return;
    is_read[id] = true;
    list.push_back(id);
  };
  for (const auto& [id, tensor] : recording_.kept) is_read[id] = true;
  for (const GivenState& state : recording_.states) {
    if (state.after != kNone) is_read[state.after] = true;
  }
  const auto behind_nodes = [&](size_t begin, size_t end) {
    for (size_t i = end; i-- > begin;) {
      for (const ValueId id : graph.nodes[i].results) dies(id, deaths.behind_node[i]);
      each_read(graph.nodes[i], [&](ValueId id) { dies(id, deaths.behind_node[i]); });
    }
  };
  size_t end = forward_end_;
  for (size_t at = recording_.marks.size(); at-- > 0;) {
    const Mark& mark = recording_.marks[at];
    behind_nodes(mark.end, end);
    end = mark.end;
    if (part_of_[at]) {
      const Part& part = parts_[*part_of_[at]];
      for (const ValueId id : part.gradients) dies(id, deaths.behind_part[*part_of_[at]]);
      behind_nodes(part.begin, part.end);
    }
    for (const ValueId id : read_by(mark.effect)) dies(id, deaths.behind_mark[at]);
  }
  behind_nodes(0, end);
  return deaths;
}

void PlannedStep::run(Context& cx, const Batch& batch) {
  reference_->clear(recording_.kept);
  for (const GivenField& field : recording_.fields) {
    if (field.value != kNone) reference_->set(field.value, batch.fields[field.field]);
  }
  for (const GivenState& state : recording_.states) {
    if (state.before != kNone) reference_->set(state.before, *state.state);
  }
  size_t done = 0;
  for (size_t at = 0; at < recording_.marks.size(); ++at) {
    const Mark& mark = recording_.marks[at];
    reference_->run(done, mark.end);
    done = mark.end;
    const Option<size_t>& part = part_of_[at];
    apply(mark, cx, [&](ValueId id) {
      if (id == kNone) return Tensor();
      return part && parts_[*part].loss == id ? with_gradient(*part) : reference_->value(id);
    });
    for (const ValueId id : deaths_.behind_mark[at]) reference_->set(id, {});
  }
  reference_->run(done, forward_end_);
  for (const GivenState& state : recording_.states) {
    if (state.after != state.before) *state.state = reference_->value(state.after);
  }
  reference_->clear(recording_.kept);
}

Tensor PlannedStep::with_gradient(size_t part) {
  torch::autograd::edge_list weights;
  for (const Tensor& weight : parts_[part].weights) weights.push_back(torch::autograd::impl::gradient_edge(In(weight)));
  const std::shared_ptr<GradientOfPlan> node(new GradientOfPlan(), torch::autograd::deleteNode);
  node->set_next_edges(std::move(weights));
  node->step = this;
  node->part = part;
  node->key = DrawScope::here().key;
  at::Tensor loss = In(reference_->value(parts_[part].loss))->variable_data();
  torch::autograd::create_gradient_edge(loss, node);
  return give(std::move(loss));
}

Tensors PlannedStep::gradients(size_t part, const Tensor& seed) {
  reference_->set(parts_[part].seed, seed);
  reference_->run(parts_[part].begin, parts_[part].end);
  Tensors found;
  for (const ValueId id : parts_[part].gradients) found.push_back(reference_->value(id));
  for (const ValueId id : deaths_.behind_part[part]) reference_->set(id, {});
  return found;
}

}  // namespace ltr::plan
