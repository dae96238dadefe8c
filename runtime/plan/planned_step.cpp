#include "runtime/plan/planned_step.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <functional>
#include <ranges>

#include "runtime/api/error.h"
#include "runtime/plan/differentiate.h"
#include "runtime/plan/fold_norms.h"
#include "runtime/plan/hold_averages.h"
#include "runtime/plan/recompute.h"
#include "runtime/plan/rule.h"
#include "runtime/plan/simplify.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/memory_pool.h"
#include "runtime/tensor/weight_moved.h"

namespace ltr::plan {

namespace {

bool differentiates(const Mark& mark) {
  return std::holds_alternative<Minimized>(mark.effect) || std::holds_alternative<BackwardOf>(mark.effect);
}

}  // namespace

PlannedStep::PlannedStep(Recording recording)
    : recording_(std::move(recording)),
      forward_end_(recording_.graph.nodes.size()),
      // A replay costs the same whatever is captured: there LibTorch's own gradients are best, and the bits those of `--backend torch`.
      has_autograd_(accelerator() != nullptr) {
  for (const Node& node : recording_.graph.nodes) {
    if (node.op == Op::grad && !recording_.refusal)
      recording_.refusal = Refusal{reason_of(Unplanned::InnerGradient), node.location};
    if (node.block != 0 && has_autograd_ && !recording_.refusal)
      recording_.refusal = Refusal{"computes a block again on a GPU", node.location};
  }
  if (recording_.refusal) return;
  const auto begin = Stopwatch::Clock::now();
  if (accelerator() == nullptr) {
    fold_norms(recording_);
    hold_averages(recording_);
    forward_end_ = recording_.graph.nodes.size();
  }
  differentiate_marks();
  if (!recording_.refusal && accelerator() == nullptr) simplify_nodes();
  planning_.gradients = Stopwatch::since(begin);
  if (recording_.refusal) return;
  deaths_ = deaths();
  reference_.emplace(recording_.graph, recording_.kept);
  reference_->forget_behind(deaths_.behind_node);
  if (has_autograd_) reference_->run_with_autograd();
}

void PlannedStep::differentiate_marks() {
  Graph& graph = recording_.graph;
  std::set<ValueId> written;  // before the gradient of a loss is computed
  // One that is frozen in some place has another name there.
  const auto note = [&](const std::vector<ValueId>& ids) {
    std::set<const void*> moved;
    for (const ValueId id : ids) {
      if (id != kNone) moved.insert(recording_.kept.at(id).impl());
    }
    if (moved.empty()) return;
    for (const auto& [id, tensor] : recording_.kept) {
      if (moved.contains(tensor.impl())) written.insert(id);
    }
  };
  for (const Mark& mark : recording_.marks) {
    const auto* minimized = std::get_if<Minimized>(&mark.effect);
    const auto* backward = std::get_if<BackwardOf>(&mark.effect);
    if (minimized == nullptr && backward == nullptr) {
      note(written_by(mark.effect));
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
    if (has_autograd_) {
      add_autograd(part, by, mark);
      part_of_.emplace_back(parts_.size());
      parts_.push_back(std::move(part));
      continue;
    }
    const Differentiated found = differentiate(graph, mark.end, part.loss, part.seed, by);
    if (found.refusal) {
      recording_.refusal =
          Refusal{"computes something whose gradient no plan has: " + found.refusal->first, found.refusal->second};
      return;
    }
    part.needs = needed_weights(recording_, mark.end, part.begin, found.of);
    compute_again(graph, mark.end, part.begin, written);
    note(written_by(mark.effect));
    part.end = graph.nodes.size();
    for (size_t i = 0; i < by.size(); ++i) {
      if (found.gradients[i] == kNone) continue;
      part.weights.push_back(recording_.kept.at(by[i]));
      part.rests.push_back(minimized != nullptr &&
                           std::ranges::find(minimized->rests, by[i]) != minimized->rests.end());
      part.gradients.push_back(found.gradients[i]);
    }
    part_of_.emplace_back(parts_.size());
    parts_.push_back(std::move(part));
  }
}

void PlannedStep::note_versions(size_t mark) {
  for (Part& part : parts_) {
    for (NeededWeight& needed : part.needs) {
      if (needed.mark == mark) needed.version = In(*needed.weight)->_version();
    }
  }
}

void PlannedStep::add_autograd(Part& part, const std::vector<ValueId>& by, const Mark& mark) {
  Graph& graph = recording_.graph;
  // A later loss may go through what leads to this one.
  const auto here = size_t(&mark - recording_.marks.data());
  const bool keeps_graph = std::ranges::any_of(recording_.marks | std::views::drop(here + 1), differentiates);
  if (graph.values[part.loss].needs_grad && !by.empty()) {
    const std::vector<ValueRef> weights(by.begin(), by.end());
    part.gradients = Builder(graph, graph.nodes[part.begin - 1].location)
                         .call(Op::loss_gradients, graph.values[part.loss].dtype, by.size(),
                               {ValueRef{part.loss}, ValueRef{part.seed}, weights, keeps_graph});
    for (const ValueId id : by) part.weights.push_back(recording_.kept.at(id));
    part.rests.resize(by.size());
  }
  part.end = graph.nodes.size();
}

void PlannedStep::simplify_nodes() {
  const std::vector<Stretch> order = stretches();
  std::vector<SimplifiedStretch> list;
  size_t next = 0;
  const auto add = [&]() -> SimplifiedStretch& {
    const Stretch& stretch = order[next++];
    return list.emplace_back(SimplifiedStretch{stretch.begin, stretch.end, stretch.results, stretch.may_be_left_out});
  };
  for (size_t at = 0; at < recording_.marks.size(); ++at) {
    add();
    if (part_of_[at]) add();
    // Behind a gradient hooks run.
    list.back().writes_behind = part_of_[at] || !written_by(recording_.marks[at].effect).empty();
  }
  add();
  const std::vector<size_t> places = simplify(recording_.graph, list);
  recording_.sites.clear();  // what a second recording would be told
  for (Mark& mark : recording_.marks) mark.end = places[mark.end];
  for (Part& part : parts_) {
    part.begin = places[part.begin];
    part.end = places[part.end];
  }
  forward_end_ = places[forward_end_];
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

std::vector<Stretch> PlannedStep::stretches() const {
  std::vector<Stretch> list;
  size_t done = 0;
  for (size_t at = 0; at < recording_.marks.size(); ++at) {
    const Mark& mark = recording_.marks[at];
    list.push_back({done, mark.end, read_by(mark.effect)});
    done = mark.end;
    if (const Option<size_t>& part = part_of_[at]) {
      const Part& one = parts_[*part];
      list.push_back({one.begin, one.end, one.gradients, true});
    }
  }
  list.push_back({done, forward_end_, {}});
  for (const GivenState& state : recording_.states) list.back().results.push_back(state.after);
  for (Stretch& stretch : list) std::erase(stretch.results, kNone);
  return list;
}

template <class Set>
void PlannedStep::each_input(const Batch& batch, const Set& set) const {
  for (const GivenField& field : recording_.fields) {
    if (field.value != kNone) set(field.value, batch.fields[field.field]);
  }
  for (const GivenState& state : recording_.states) {
    if (state.before != kNone) set(state.before, *state.state);
  }
}

void PlannedStep::prepare(const Batch& batch, int threads, const std::shared_ptr<Arena>& arena, bool narrows) {
  const auto grows = [&](const GivenState& state) {
    return state.before != kNone && state.after != kNone &&
           recording_.graph.values[state.before].sizes != recording_.graph.values[state.after].sizes;
  };
  if (!has_fixed_sizes(recording_.graph) || std::ranges::any_of(recording_.states, grows)) return;
  const std::vector<Stretch> order = stretches();
  if (accelerator() != nullptr) {
    replays_ = std::make_unique<Replays>(recording_.graph, *reference_, order, recording_.kept, deaths_.behind_node);
    return;
  }
  std::set<ValueId> of_tables;
  for (const Part& part : parts_) {
    for (size_t i = 0; i < part.gradients.size(); ++i) {
      if (part.rests[i]) of_tables.insert(part.gradients[i]);
    }
  }
  const auto begin = Stopwatch::Clock::now();
  find_sizes(batch, order);
  planning_.sizes = Stopwatch::since(begin);
  // What one run op by op took is not what the plan will.
  reference_.reset();
  give_back_memory();
  const auto sized = Stopwatch::Clock::now();
  cpu_ = std::make_unique<CpuPlan>(recording_.graph, recording_.kept, order, batch.size, threads, arena,
                                   std::move(of_tables), narrows);
  cpu_->stay_alone_if_small();
  planning_.calls = Stopwatch::since(sized);
}

/// Of gradients, and of what their rules need: the recording had none of them.
void PlannedStep::find_sizes(const Batch& batch, const std::vector<Stretch>& order) {
  const auto run = [&](Reference& reference) {
    reference.note_sizes(&recording_.graph);
    each_input(batch, [&](ValueId id, const Tensor& value) { reference.set(id, value); });
    for (const Part& part : parts_) {
      const Value& loss = recording_.graph.values[part.loss];
      reference.set(part.seed, give(at::ones(loss.sizes, aten(loss.dtype))));
    }
    for (const Stretch& stretch : order) reference.run(stretch.begin, stretch.end);
  };
  Reference quick(recording_.graph, recording_.kept);
  quick.leave_out_what_is_sized();
  quick.forget_behind(deaths_.behind_node);
  try {
    return run(quick);
  } catch (const std::exception&) {  // some function has no answer for zeros
  }
  run(*reference_);
}

void PlannedStep::compute(size_t begin, size_t end) {
  if (replays_) return replays_->run(stretch_++);
  if (!cpu_) return reference_->run(begin, end);
  if (!cpu_->run(stretch_++)) explain();
}

/// Some kernel met a value that it has no answer for; the functions of the step say what and where.
void PlannedStep::explain() const {
  Reference reference(recording_.graph, recording_.kept);
  each_input(*batch_, [&](ValueId id, const Tensor& value) { reference.set(id, value); });
  reference.run(0, forward_end_);
  throw error_here(err::value_out_of_range, "a value is out of range in a planned step");
}

Tensor PlannedStep::taken(ValueId id) {
  if (cpu_) return give(copies_.of(id, cpu_->view(id)));
  const at::Tensor value = aten(reference_->value(id));
  if (!value.defined()) return {};
  return give(lends_values() ? value.detach().clone() : value.detach());
}

void PlannedStep::apply_mark(Context& cx, const Mark& mark, const Option<size_t>& part) {
  const auto value = [&](ValueId id) {
    if (id == kNone) return Tensor();
    // What is kept is itself, and not what it is now.
    const auto kept = recording_.kept.find(id);
    return kept != recording_.kept.end() ? kept->second : taken(id);
  };
  // One that reaches no weight has no gradient, and is refused for it.
  if (!part || parts_[*part].weights.empty()) return apply(mark, cx, value);
  const Tensor loss = value(parts_[*part].loss);
  GradientOfPart gradient(*this, *part);
  const LossGradient::Scope scope(In(loss), gradient);
  const auto with_loss = [&](ValueId id) { return id == parts_[*part].loss ? loss : value(id); };
  apply(mark, cx, std::cref(with_loss));  // by itself it would take memory of the heap
}

void PlannedStep::measure(const bool& traces) {
  measured_.emplace();
  if (cpu_) cpu_->measure(traces);
}

Measured PlannedStep::measured() const {
  Measured measured = measured_.value_or(Measured());
  if (cpu_) {
    measured.threads = cpu_->threads();
    measured.costs = cpu_->costs();
    measured.products = &cpu_->products();
  }
  return measured;
}

void PlannedStep::capture(const Batch& batch) {
  reference_->clear(recording_.kept);
  each_input(batch, [&](ValueId id, const Tensor& value) { reference_->set(id, value); });
  for (Part& part : parts_) reference_->set(part.seed, seed_of(part, 1));
  replays_->capture();
}

const Tensor& PlannedStep::seed_of(Part& part, double factor) {
  if (!part.factor_value.defined() || part.factor != factor) {
    const at::TensorOptions options(aten(recording_.graph.values[part.seed].dtype));
    part.factor_value = give(at::full(recording_.graph.values[part.loss].sizes, factor, options.device(run_device())));
    part.factor = factor;
  }
  return part.factor_value;
}

void PlannedStep::run(Context& cx, const Batch& batch, const GradientUse& use) {
  if (!measured_) return run_all(cx, batch, use);
  const auto begin = Stopwatch::Clock::now();
  run_all(cx, batch, use);
  measured_->seconds += Stopwatch::since(begin);
  measured_->runs += 1;
}

void PlannedStep::run_all(Context& cx, const Batch& batch, const GradientUse& use) {
  batch_ = &batch;
  use_ = use;
  stretch_ = 0;
  ran_.assign(parts_.size(), false);
  if (cpu_) {
    cpu_->begin(DrawScope::here().key);
  } else {
    reference_->clear(recording_.kept);
  }
  each_input(batch, [&](ValueId id, const Tensor& value) { cpu_ ? cpu_->set(id, value) : reference_->set(id, value); });
  size_t done = 0;
  for (size_t at = 0; at < recording_.marks.size(); ++at) {
    const Mark& mark = recording_.marks[at];
    compute(done, mark.end);
    done = mark.end;
    const Option<size_t>& part = part_of_[at];
    note_versions(at);
    apply_mark(cx, mark, part);
    // A loss that was refused has no gradient.
    if (part && !ran_[*part]) ++stretch_;
    if (cpu_) continue;
    for (const ValueId id : deaths_.behind_mark[at]) reference_->set(id, {});
  }
  compute(done, forward_end_);
  for (const GivenState& state : recording_.states) {
    if (state.after != state.before) *state.state = taken(state.after);
  }
  if (cpu_) return cpu_->end();
  reference_->clear(recording_.kept);
}

namespace {

/// Whether elements of two tensors may lie in one place.
bool may_overlap(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_sparse() || b.is_sparse()) return a.is_same(b);
  const auto end_of = [](const at::Tensor& of) {
    int64_t last = 0;
    for (int64_t dim = 0; dim < of.dim(); ++dim) last += (of.size(dim) - 1) * of.stride(dim);
    return static_cast<const char*>(of.const_data_ptr()) + (last + 1) * int64_t(of.element_size());
  };
  if (a.numel() == 0 || b.numel() == 0) return false;
  return a.const_data_ptr() < end_of(b) && b.const_data_ptr() < end_of(a);
}

}  // namespace

void PlannedStep::find_shared(Part& part) const {
  // Of a weight that is added to the loss it is the gradient of the loss itself, which stays for the next run.
  std::vector<at::Tensor> before{aten(part.factor_value)};
  for (const ValueId id : part.gradients) {
    const at::Tensor gradient = gradient_of(id);
    part.shared.push_back(gradient.defined() && std::ranges::any_of(before, [&](const at::Tensor& one) {
                            return may_overlap(one, gradient);
                          }));
    if (gradient.defined()) before.push_back(gradient);
  }
}

at::Tensor PlannedStep::gradient_of(ValueId id) const { return cpu_ ? cpu_->view(id) : aten(reference_->value(id)); }

void PlannedStep::add_gradients(size_t at, double factor) {
  Part& part = parts_[at];
  const c10::AutoGradMode no_grad(false);
  const DrawScope draws({DrawScope::here().key, 0});
  for (const NeededWeight& needed : part.needs) {
    if (needed.version != In(*needed.weight)->_version()) throw weight_moved();
  }
  const Tensor& seed = seed_of(part, factor);
  ran_[at] = true;
  cpu_ ? cpu_->set(part.seed, seed) : reference_->set(part.seed, seed);
  compute(part.begin, part.end);
  if (part.shared.empty()) find_shared(part);
  for (size_t i = 0; i < part.gradients.size(); ++i) {
    const In weight(part.weights[i]);
    at::Tensor& sum = weight->mutable_grad();
    at::Tensor gradient = gradient_of(part.gradients[i]);
    if (!gradient.defined()) continue;
    // Whoever clips one of two weights would clip the gradient of both.
    const bool is_shared = part.shared[i];
    if (sum.defined()) {
      add_gradient(sum, gradient);
    } else if (gradient.is_sparse()) {
      if (is_shared) gradient = gradient.clone();
      sum = use_.takes_rows ? gradient : gradient.to_dense();
    } else if (gradient.strides() != weight->strides()) {
      sum = at::empty_like(weight->detach()).copy_(gradient);
    } else {
      sum = is_shared || (lends_values() && !use_.is_alone) ? part.sums.begin(i, gradient) : gradient;
    }
  }
  if (cpu_) return;
  for (const ValueId id : deaths_.behind_part[at]) reference_->set(id, {});
}

}  // namespace ltr::plan
