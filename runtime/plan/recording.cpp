#include "runtime/plan/recording.h"

#include <algorithm>

#include "ltr/operators.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr::plan {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

std::vector<ValueId> values_of(const std::vector<StateValue>& states) {
  std::vector<ValueId> values;
  for (const StateValue& one : states) values.push_back(one.value);
  return values;
}

Weights weights_of(const std::vector<ValueId>& ids, const std::function<Tensor(ValueId)>& value) {
  Weights weights;
  for (const ValueId id : ids) weights.push_back({"", value(id)});
  return weights;
}

bool same(const Node& a, const Node& b) {
  return a.op == b.op && a.arguments == b.arguments && a.results == b.results && a.site == b.site &&
         a.is_training == b.is_training && a.block == b.block;
}

/// Whether the value is of the same kind in both. States of metrics may grow, and what is made of them; what has a gradient is
/// differentiated with its sizes.
bool same(const Value& a, const Value& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.needs_grad == b.needs_grad &&
         (!a.needs_grad || a.sizes == b.sizes);
}

/// The first node or effect that reads `value`.
Location reader_of(const Recording& recording, ValueId value) {
  for (const Node& node : recording.graph.nodes) {
    for (const Argument& argument : node.arguments) {
      if (const auto* one = std::get_if<ValueRef>(&argument); one != nullptr && one->id == value) return node.location;
      const auto* list = std::get_if<std::vector<ValueRef>>(&argument);
      if (list != nullptr && std::ranges::find(*list, ValueRef{value}) != list->end()) return node.location;
    }
  }
  for (const Mark& mark : recording.marks) {
    if (std::ranges::count(read_by(mark.effect), value) != 0) return mark.location;
  }
  return {};
}

}  // namespace

bool holds(const Guard& guard, const Context& cx) {
  return std::visit(Overloaded{[&](const CountRead& one) { return cx.*one.field == one.value; },
                               [&](const PeriodRead& one) { return due(cx, one.period, one.is_end) == one.is_due; },
                               [&](const TruthRead& one) { return one.holds(cx) == one.value; }},
                    guard);
}

Str to_text(const Guard& guard) {
  const auto name_of = [](int64_t Context::* field) {
    if (field == &Context::epoch) return "epoch";
    if (field == &Context::global_step) return "global_step";
    return field == &Context::batch_index ? "batch_index" : "batch_size";
  };
  return std::visit(
      Overloaded{[&](const CountRead& one) { return fmt::format("{} = {}", name_of(one.field), one.value); },
                 [](const PeriodRead& one) {
                   return fmt::format("every {} is {}due", one.period.to_text(), one.is_due ? "" : "not ");
                 },
                 [](const TruthRead& one) {
                   const Str place = one.at.line > 0 ? fmt::format("{}:{}:{}", one.at.file, one.at.line, one.at.column)
                                                     : Str("the library");
                   return fmt::format("the condition of {} {}", place, one.value ? "holds" : "does not");
                 }},
      guard);
}

std::vector<ValueId> read_by(const Effect& effect) {
  using Ids = std::vector<ValueId>;
  return std::visit(Overloaded{[](const Minimized& one) { return Ids{one.loss}; },
                               [](const BackwardOf& one) { return Ids{one.loss}; },
                               [](const TensorLogged& one) { return Ids{one.value}; },
                               [](const MetricLogged& one) { return values_of(one.states); },
                               [](const ImageLogged& one) { return Ids{one.value}; },
                               [](const HistogramLogged& one) { return Ids{one.value}; },
                               [](const MetricFed& one) { return Ids{one.value}; },
                               [](const OutputGiven& one) {
                                 Ids ids;
                                 for (const OutputValue& value : one.values) ids.push_back(value.value);
                                 return ids;
                               },
                               [](const BufferAssigned& one) { return Ids{one.buffer, one.value}; },
                               [](const BufferFilled& one) { return Ids{one.buffer}; },
                               [](const AveragesMoved& one) {
                                 Ids ids = one.target;
                                 ids.insert(ids.end(), one.source.begin(), one.source.end());
                                 return ids;
                               },
                               [](const auto&) { return Ids(); }},
                    effect);
}

std::vector<ValueId> written_by(const Effect& effect) {
  using Ids = std::vector<ValueId>;
  return std::visit(
      Overloaded{[](const Minimized& one) { return one.by; }, [](const OptimizerStepped& one) { return one.by; },
                 [](const BufferAssigned& one) { return Ids{one.buffer}; },
                 [](const BufferFilled& one) { return Ids{one.buffer}; },
                 [](const AveragesMoved& one) { return one.target; }, [](const auto&) { return Ids(); }},
      effect);
}

void apply(const Mark& mark, Context& cx, const std::function<Tensor(ValueId)>& value) {
  at(mark.location);
  std::visit(Overloaded{[&](const Minimized& one) {
                          cx.minimize(value(one.loss), *one.optimizer, one.is_last, mark.location);
                        },
                        [&](const BackwardOf& one) { cx.backward(value(one.loss), mark.location); },
                        [&](const GradientsZeroed& one) { cx.zero_grad(*one.optimizer); },
                        [&](const OptimizerStepped& one) { cx.step(*one.optimizer); },
                        [&](const NormClipped& one) { cx.clip_norm(*one.optimizer, one.limit); },
                        [&](const ValueClipped& one) { cx.clip_value(*one.optimizer, one.limit); },
                        [&](const RateSet& one) { cx.set_lr(*one.optimizer, one.rate); },
                        [&](const TensorLogged& one) { cx.log(one.slot, value(one.value)); },
                        [&](const NumberLogged& one) { cx.log(one.slot, one.value); },
                        [&](const MetricLogged& one) {
                          for (const StateValue& state : one.states) *state.state = value(state.value);
                          if (one.is_image) {
                            cx.log_image(one.slot, *one.metric);
                          } else {
                            cx.log(one.slot, *one.metric);
                          }
                        },
                        [&](const ImageLogged& one) { cx.log_image(one.slot, value(one.value)); },
                        [&](const HistogramLogged& one) { cx.log_histogram(one.slot, value(one.value)); },
                        [&](const TextLogged& one) { cx.log_text(one.slot, one.text); },
                        [&](const Printed& one) { cx.print(one.text); },
                        [&](const Stopped& one) { cx.stop(one.reason); },
                        [&](const EpochEnded& one) { cx.end_epoch(one.reason); },
                        [&](const Saved& one) { cx.save(one.name); },
                        [&](const MetricFed& one) { cx.into_metric(one.metric, value(one.value)); },
                        [&](const OutputGiven& one) {
                          Outputs outputs;
                          for (const OutputValue& output : one.values)
                            outputs.push_back({output.name, value(output.value), output.is_texts});
                          cx.output(std::move(outputs));
                        },
                        [&](const BufferAssigned& one) { assign(value(one.buffer), value(one.value)); },
                        [&](const BufferFilled& one) {
                          assign(value(one.buffer), one.is_int ? Scalar(one.whole) : Scalar(one.real));
                        },
                        [&](const AveragesMoved& one) {
                          ema_update(weights_of(one.target, value), weights_of(one.source, value), one.decay);
                        }},
             mark.effect);
}

Option<Refusal> difference(const Recording& first, const Recording& second) {
  if (second.refusal) return second.refusal;
  for (const auto& [id, tensor] : second.kept) {
    const auto before = first.kept.find(id);
    if (before != first.kept.end() && before->second.impl() != tensor.impl())
      return Refusal{
          fmt::format(
              "reads a tensor, {}[{}], that no op of the step made, as of an extern function, which no plan sees into",
              to_text(dtype_of(aten(tensor).scalar_type())),
              fmt::join(aten(tensor).sizes().begin(), aten(tensor).sizes().end(), ", ")),
          reader_of(second, id)};
  }
  const Graph &a = first.graph, &b = second.graph;
  for (size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    if (same(a.nodes[i], b.nodes[i])) continue;
    const bool same_op = a.nodes[i].op == b.nodes[i].op;
    return Refusal{
        same_op ? "takes numbers of the host that change from batch to batch" : "does other work in each batch",
        b.nodes[i].location};
  }
  for (size_t i = 0; i < std::min(first.marks.size(), second.marks.size()); ++i) {
    const Mark &one = first.marks[i], &other = second.marks[i];
    if (one.end != other.end || one.effect != other.effect)
      return Refusal{"takes numbers of the host that change from batch to batch", other.location};
  }
  const bool is_longer = a.nodes.size() != b.nodes.size() || first.marks.size() != second.marks.size();
  const bool is_same_size = a.values.size() == b.values.size() && first.kept.size() == second.kept.size();
  const auto same_values = [](const Value& one, const Value& other) { return same(one, other); };
  if (is_longer || !is_same_size || !std::ranges::equal(a.values, b.values, same_values))
    return Refusal{"does other work in each batch", {}};
  return std::nullopt;
}

}  // namespace ltr::plan
