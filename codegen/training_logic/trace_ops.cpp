// Ops without regions: what their results are.
#include <algorithm>

#include "codegen/training_logic/trace.h"
#include "dsl/host/math.h"
#include "dsl/library/each.h"
#include "runtime/tables/roles.h"
#include "runtime/tables/weight_name.h"

namespace ltr::training_logic {

using ir::OpKind;
using ir::TypeKind;
using library::Draws;
using library::Gradient;
using library::Id;

namespace {

bool is_floating(const ir::Type& type) { return type.is_tensor() && ir::is_floating(type.element); }

/// As it is written in the program.
std::string shown(const ir::Op& op) {
  const library::Function& function = library::info(op.function);
  const std::string_view name = op.kind == OpKind::CallOp ? function.name : op.info().name;
  return "`" + std::string(function.sign.empty() ? name : function.sign) + "`";
}

bool is_comparison(Id function) {
  return function == Id::Lt || function == Id::Le || function == Id::Gt || function == Id::Ge;
}

/// The range of `i + 1` and its kind, of an index `i` of a loop.
std::optional<std::pair<int64_t, int64_t>> moved_range(host::Op op, const Value& left, const Value& right) {
  constexpr int64_t kFar = 1'000'000;
  const auto is_near = [](int64_t number) { return number > -kFar && number < kFar; };
  const Value &index = left.range ? left : right, &other = left.range ? right : left;
  const auto* by = other.constant ? std::get_if<int64_t>(&*other.constant) : nullptr;
  const bool is_sum = op == host::Op::Add, is_less = op == host::Op::Sub && left.range;
  if (!index.range || by == nullptr || (!is_sum && !is_less) || !is_near(*by) || !is_near(index.range->first) ||
      !is_near(index.range->second))
    return std::nullopt;
  const int64_t way = is_sum ? *by : -*by;
  return std::pair(index.range->first + way, index.range->second + way);
}

/// Whether the numbers that an op gives lie within bounds, for itself or by its arguments: no score below 0 is left.
bool is_bound(const ir::Op& op, const std::vector<const Value*>& operands) {
  const auto is_above = [&](size_t i) { return i < operands.size() && number_of(*operands[i]).value_or(-1) >= 0; };
  if (op.function == Id::Clamp) return is_above(1);
  if (op.function == Id::Maximum) return is_above(0) || is_above(1);
  return library::info(op.function).bounds != library::Bounds::Unbound;
}

/// Whether a term of a loss lies wholly in a `no_grad` that was meant for a part of it: it has a weight, as what trains has, and
/// hangs on what the others train. What only corrects the number that is shown has none.
bool is_lost_share(const Value& term, const Value& other) {
  if (!term.is_share) return false;
  return std::ranges::any_of(term.cuts, [&](const auto& cut) {
    // What is stopped inside of a loss is a side of it, where a whole term may be stopped on purpose.
    const bool is_within = cut.second.by == "`no_grad`" || (cut.second.by == "`stop_grad`" && term.loss != Id::None);
    return cut.first != 0 && is_within &&
           std::ranges::any_of(other.paths, [&](const auto& path) { return path.first.to.owner == cut.first; });
  });
}

/// `value` as what a type says it is: its parts hang on all that it hangs on. `cut` tells what cuts, where something does.
Value shaped(Value value, const ir::Type& type, const auto& cut) {
  if (type.is_tensor() && !is_floating(type)) return severed(std::move(value), cut());
  if (!type.is(TypeKind::Tuple) && !type.is(TypeKind::List) && !type.is(TypeKind::Record)) return value;
  std::vector<Known> parts;
  for (const ir::Field& field : type.fields) parts.push_back(new Value(shaped(value, field.type, cut)));
  value.is_uniform = type.is(TypeKind::List);
  value.parts = std::move(parts);
  value.paths.clear();
  value.reached.clear();
  return value;
}

}  // namespace

Known Trace::value_of(const ir::Op& op, Frame& frame) {
  const auto operand = [&](size_t i) -> const Value& { return use(op.operands[i], frame); };
  switch (op.kind) {
    case OpKind::Member:
    case OpKind::ReadParam:
    case OpKind::ReadBuffer: return member(op, frame);
    case OpKind::SetMember: {
      for (const ObjectId id : operand(0).objects)
        heap_.objects[id].members[op.name] = {known(op.operands[1], frame), op.loc.span};
      return nothing_;
    }
    case OpKind::Place:
    case OpKind::PlaceElement:
    case OpKind::ScopeOf:
    case OpKind::TestRoot: return new Value(place(op, frame));
    case OpKind::Construct: return construct(op, frame);
    case OpKind::MakeWeight:
    case OpKind::MakeBuffer: return made_weight(op, frame);
    case OpKind::MakeValue:
    case OpKind::MakeCall: return new Value(made_setting(op, frame));
    case OpKind::MakeOptimizer: return new Value(made_optimizer(op, frame));
    case OpKind::MakeGroup: {
      Value value;
      value.group = &op;
      return new Value(std::move(value));
    }
    case OpKind::MakeInit: return new Value(chosen_by_pattern(op, frame));
    case OpKind::WeightsAt:
    case OpKind::WeightsOfOptimizer:
    case OpKind::JoinWeights: return new Value(weights(op, frame));
    case OpKind::CallFn:
    case OpKind::CallMethod: return call_op(op, frame);
    case OpKind::CallValue: return call_value(op, frame);
    case OpKind::MakeMetric: made_metric(op, frame); return nothing_;
    case OpKind::CallMetric: called_metric(op, frame); return varying_;
    case OpKind::HostOp: return new Value(host(op, frame));
    case OpKind::Choose: return new Value(join(operand(1), operand(2)));
    case OpKind::Convert: {
      const bool is_kept = operand(0).parts.empty() || !frame.function->values[op.results[0]].type.is_tensor();
      return is_kept ? known(op.operands[0], frame) : Known(new Value(joined_operands(op, frame)));
    }
    case OpKind::LoadWeights: freeze(op, frame); return nothing_;
    case OpKind::CheckShape:
    case OpKind::CheckResult: return known(op.operands[0], frame);
    case OpKind::ListOf:
    case OpKind::TupleOf:
    case OpKind::RecordOf: {
      Value value;
      for (const ir::ValueId id : op.operands) value.parts.push_back(known(id, frame));
      return new Value(std::move(value));
    }
    case OpKind::ListGet:
    case OpKind::TupleGet:
    case OpKind::RecordGet: return element(op, frame);
    case OpKind::Item:
    case OpKind::Equal:
    case OpKind::InList:
    case OpKind::ListLength:
    case OpKind::ShapeOf:
    case OpKind::SizeOf: return new Value(severed(read_on_host(op, frame), {user_span(op, frame), "`item`", false}));
    case OpKind::ReadHparam:
    case OpKind::ReadContext:
    case OpKind::ReadSeries:
    case OpKind::Due:
    case OpKind::Interpolate:
    case OpKind::Overfit: return varying_;
    case OpKind::Unknown: findings.has_error = true; return unknown_;
    default: return new Value(library(op, frame));
  }
}

Known Trace::call_op(const ir::Op& op, Frame& frame) {
  const ir::Function* function = find(op.name);
  std::vector<Known> arguments;
  arguments.reserve(op.operands.size());
  for (const ir::ValueId id : op.operands) arguments.push_back(known(id, frame));
  const bool has_object = op.kind != OpKind::CallMethod || !arguments[0]->objects.empty();
  if (function == nullptr || !has_object) {
    findings.has_error = findings.has_error || function == nullptr;
    return unknown_;
  }
  if (function->is_library) look_at_masks_given(op, *function, arguments, frame);
  // With `reduction = none` a loss takes what it takes else.
  const Id written = function->is_library ? library::written_loss(op.name) : Id::None;
  const Id loss = library::is_loss(written) ? written : Id::None;
  if (loss != Id::None) {
    look_at_activation(loss, op, frame);
    look_at_sides(loss, op, frame);
    look_at_kinds(loss, op, frame);
    Value taken = *arguments[0];
    taken.activation = {};
    arguments[0] = new Value(std::move(taken));
  }
  if (op.kind == OpKind::CallFn || arguments[0]->objects.size() == 1) {
    Known result = call(*function, std::move(arguments), &frame, &op);
    if (written == Id::None || result->loss != Id::None) return result;
    Value value = *result;
    value.loss = loss;
    value.is_each = loss != Id::None && frame.function->values[op.results[0]].type.dims.size() > 1;
    if (library::info(written).bounds != library::Bounds::Unbound) value.activation = {written, user_span(op, frame)};
    return new Value(std::move(value));
  }
  Known result;
  const Known all = arguments[0];
  for (const ObjectId id : all->objects) {
    Value object = *all;
    object.objects = {id};
    arguments[0] = new Value(std::move(object));
    const Known one = call(*function, arguments, &frame, &op);
    result = result ? Known(new Value(join(*result, *one))) : one;
  }
  return result;
}

Known Trace::element(const ir::Op& op, Frame& frame) {
  const Value& base = use(op.operands[0], frame);
  if (base.parts.empty()) {
    Value whole;
    depend(whole, base);
    return new Value(std::move(whole));
  }
  std::optional<size_t> at;
  if (op.kind == OpKind::RecordGet) {
    const std::vector<ir::Field>& fields = frame.function->values[op.operands[0]].type.fields;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == op.name) at = i;
    }
  } else if (op.kind == OpKind::TupleGet) {
    at = size_t(op.number("index"));
  } else if (base.is_uniform) {
    at = 0;
  } else if (const Value& index = use(op.operands[1], frame); index.constant) {
    if (const int64_t* known = std::get_if<int64_t>(&*index.constant))
      at = size_t(*known < 0 ? *known + int64_t(base.parts.size()) : *known);
  }
  if (at && *at < base.parts.size()) {
    const Known& part = base.parts[*at];
    if (!base.is_uniform || (part->identity == 0 && part->objects.empty())) return part;
    Value one = *part;
    one.identity = 0;  // It stands for all elements.
    const auto& index = use(op.operands[1], frame).constant;
    if (const int64_t* known = index ? std::get_if<int64_t>(&*index) : nullptr) one.element = *known;
    return new Value(std::move(one));
  }
  size_t begin = 0, end = base.parts.size();
  if (op.kind == OpKind::ListGet && !base.is_uniform) {
    const auto& range = use(op.operands[1], frame).range;
    const bool is_within = range && range->first >= 0 && range->second <= int64_t(end);
    if (is_within) {
      begin = size_t(range->first);
      end = size_t(range->second);
    }
  }
  Known any = base.parts[begin];
  for (size_t i = begin + 1; i < end; ++i) any = new Value(join(*any, *base.parts[i]));
  return any;
}

Value Trace::host(const ir::Op& op, Frame& frame) {
  const Value& first = use(op.operands[0], frame);
  if (op.host == host::Op::Defined) {
    if (first.is_none) return Value::of(false);
    if (!first.weights.empty() || first.varies) return Value::of(true);
    return Value::varying();
  }
  if (op.host == host::Op::Not && first.constant) {
    if (const bool* known = std::get_if<bool>(&*first.constant)) return Value::of(!*known);
  }
  const Value* second = op.operands.size() == 2 ? &use(op.operands[1], frame) : nullptr;
  if (first.constant && second != nullptr && second->constant) {
    // Sizes, and places in lists.
    const int64_t* left = std::get_if<int64_t>(&*first.constant);
    const int64_t* right = std::get_if<int64_t>(&*second->constant);
    const auto result = left != nullptr && right != nullptr ? host::fold(op.host, *left, *right) : std::nullopt;
    if (const int64_t* whole = result ? std::get_if<int64_t>(&*result) : nullptr) return Value::of(*whole);
  }
  Value value = severed(joined_operands(op, frame), {user_span(op, frame), "`item`", false});
  value.lost_term.reset();
  if (second != nullptr) value.range = moved_range(op.host, first, *second);
  value.may_count = op.host == host::Op::Div || first.may_count || (second != nullptr && second->may_count);
  return value;
}

// Gradients go from the result to what the operands hang on. The way to what one operand hangs on
// needs the value of the others, which matters where those are weights.
Value Trace::library(const ir::Op& op, Frame& frame) {
  const library::Function& function = library::info(op.function);
  Operands operands;
  operands.reserve(op.operands.size());
  for (const ir::ValueId id : op.operands) operands.push_back(&use(id, frame));
  if (op.function == Id::EmaUpdate && !operands.empty()) {
    for (const WeightUse& one : weights_in(*operands[0], op.loc.span)) {
      heap_.weights[one.weight].is_averaged = true;
      heap_.weights[one.weight].averaged_at = op.loc.span;
      if (const OwnerId owner = heap_.weights[one.weight].owner; owner != 0)
        versions_[owner] = version_at(op, owner, op.loc.span);
    }
    if (operands.size() > 1) look_at_average(op, *operands[0], *operands[1], frame);
    return {};
  }
  if (op.function == Id::GradsOf && operands[0]->optimizer) find_none_left(op, *operands[0]->optimizer, "grads");
  look_at_activation(op.function, op, frame);
  look_at_axis(op, frame);
  if (library::is_loss(op.function)) {
    look_at_sides(op.function, op, frame);
    look_at_kinds(op.function, op, frame);
  }
  Value value;
  for (const Value* operand : operands) depend(value, *operand);
  value.lost_term.reset();
  for (size_t i = 0; i < operands.size(); ++i) {
    for (const Snapshot& leaf : operands[i]->leaves) {
      for (size_t k = 0; k < operands.size(); ++k) {
        if (k == i) continue;
        for (const auto& [path, span] : operands[k]->paths) value.paths.emplace(Path{path.to, leaf}, span);
      }
    }
  }
  const Span span = user_span(op, frame);
  const auto cut = [&] { return Cut{span, shown(op), op.function == Id::StopGrad}; };
  if (function.gradient == Gradient::Stops) value = severed(std::move(value), cut());
  if (function.rearranges && !operands.empty()) {
    const Value& first = *operands[0];
    value.leaves = first.leaves;
    value.is_uniform_draw = first.is_uniform_draw;
    value.activation = first.activation;
    for (const Known& part : first.parts)
      value.activation =
          part->activation.function == first.parts[0]->activation.function ? part->activation : Activation{};
  }
  // Probabilities that are only scaled are no logits yet, and scores no probabilities.
  const auto is_number = [&](size_t i) { return !frame.function->values[op.operands[i]].type.is_tensor(); };
  if ((op.function == Id::Mul || op.function == Id::Div) && operands.size() == 2 && is_number(0) != is_number(1)) {
    const Activation& before = operands[is_number(0) ? 1 : 0]->activation;
    if (before.function == Id::Softmax || library::info(before.function).gives_scores) value.activation = before;
    value.is_share = op.function == Id::Mul;
    // A sum that is scaled has the terms that it had.
    const bool is_scaled = op.function == Id::Mul || is_number(1);
    if (is_scaled) value.lost_term = operands[is_number(0) ? 1 : 0]->lost_term;
  }
  if (function.gives_probs || function.gives_scores || function.spoils_scores) value.activation = {op.function, span};
  if (op.function == Id::Log && operands[0]->activation.function == Id::Softmax)
    value.activation = {Id::LogSoftmax, span};
  if (is_bound(op, operands) && !frame.function->is_library) value.activation = {op.function, span};
  // Each number of a divergence is that of a class.
  const bool is_over_all = operands.size() == 1 || (operands.size() > 1 && operands[1]->is_none);
  if (op.function == Id::Mean && is_over_all && operands[0]->loss == Id::KlDiv && operands[0]->is_each)
    findings.mean_divergences.push_back(span);
  take_sign(op, operands, value, frame);
  take_filled(op, operands, value);
  take_records(op, operands, value, frame);
  take_noise(op, operands, value, frame);
  take_total(op, operands, value, frame);
  const bool is_sum = op.function == Id::Add || op.function == Id::Sub;
  if (op.function == Id::Add && operands.size() == 2) look_at_terms(op, frame);
  if (is_sum && operands.size() == 2) {
    for (size_t i = 0; i < 2; ++i) {
      const Value &term = *operands[i], &other = *operands[1 - i];
      if (term.lost_term) value.lost_term = term.lost_term;
      if (term.is_unknown || !term.paths.empty() || term.cuts.empty() || other.paths.empty()) continue;
      const bool is_meant = std::ranges::any_of(term.cuts, [](const auto& one) { return one.second.is_meant; });
      if (!is_meant) {
        value.lost_term = Cut{written_span(op, i, frame), term.cuts.begin()->second.by, false};
      } else if (is_lost_share(term, other)) {
        value.lost_term = Cut{written_span(op, i, frame), term.cuts.begin()->second.by, true};
      }
    }
  }
  if (op.results.empty()) return value;
  if (function.always_draws()) {
    value.varies = true;
    value.is_uniform_draw = function.draws == Draws::Uniform;
  }
  look_at_randomness(op, operands, value, frame);
  if (function.is_of_batch && is_train_step()) findings.statistics.push_back(span);
  return shaped(std::move(value), frame.function->values[op.results[0]].type, cut);
}

void Trace::called_metric(const ir::Op& op, Frame& frame) {
  const ir::Function* update = find(op.text("fn"));
  std::vector<Known> arguments;
  for (const ir::ValueId operand : op.operands) arguments.push_back(known(operand, frame));
  const Known owner = arguments[0];
  for (const ObjectId id : owner->objects) {
    findings.metrics.push_back({user_span(op, frame), root_, id, op.name});
    const Known* made = heap_.objects[id].find(op.name);
    if (update == nullptr || made == nullptr) continue;
    arguments[0] = *made;
    look_at_scores(op, *update, **made, frame);
    look_at_sides(op, *update, frame);
    call(*update, arguments, &frame, &op);
  }
}

// Weights follow each other in their order. A list of unknown length counts as one element.
void Trace::look_at_average(const ir::Op& op, const Value& target, const Value& source, const Frame& frame) {
  if (target.is_unknown || source.is_unknown) return;
  const Span span = user_span(op, frame);
  const std::vector<WeightUse> to = weights_in(target, op.loc.span), from = weights_in(source, op.loc.span);
  findings.followed.push_back({span, from});
  const auto is_one = [&](const WeightUse& use) {
    const Weight& weight = heap_.weights[use.weight];
    return weight.is_sure && weight.places[0].path.find('*') == std::string::npos;
  };
  const bool is_held = !target.frozen.empty() || !source.frozen.empty();
  const bool is_known = (!to.empty() || !target.frozen.empty()) && (!from.empty() || !source.frozen.empty());
  if (!is_known || !std::all_of(to.begin(), to.end(), is_one) || !std::all_of(from.begin(), from.end(), is_one)) return;
  if (to.empty() && from.empty()) {
    findings.averages.push_back({span, "all of them stay as they are", is_held});
    return;
  }
  const auto is_same = [](const WeightUse& one, const WeightUse& other) { return one.weight == other.weight; };
  if (std::equal(to.begin(), to.end(), from.begin(), from.end(), is_same)) {
    findings.averages.push_back({span, "they follow themselves"});
    return;
  }
  if (to.size() != from.size()) {
    findings.averages.push_back(
        {span, std::to_string(to.size()) + " cannot follow " + std::to_string(from.size()), is_held});
    return;
  }
  for (size_t i = 0; i < to.size(); ++i) {
    const Weight &left = heap_.weights[to[i].weight], &right = heap_.weights[from[i].weight];
    bool are_alike = left.sizes.size() == right.sizes.size();
    for (size_t axis = 0; are_alike && axis < left.sizes.size(); ++axis)
      are_alike = !left.sizes[axis] || !right.sizes[axis] || *left.sizes[axis] == *right.sizes[axis];
    if (are_alike) continue;
    const std::string first = weight_name(left.places[0].path), second = weight_name(right.places[0].path);
    findings.averages.push_back({span, "`" + first + "` and `" + second + "` have different shapes"});
    return;
  }
}

// Sizes hang on no numbers.
Value Trace::read_on_host(const ir::Op& op, const Frame& frame) const {
  Value value = joined_operands(op, frame);
  if (op.kind != OpKind::Item) value.is_of_input = false;
  value.may_count = op.kind != OpKind::Item;
  return value;
}

// Blocks may well sample (a variational model does): what they draw is theirs. All else is the step's own.
bool Trace::is_in_block(const Frame& frame) const {
  for (const Frame* at = &frame; at != nullptr; at = at->caller) {
    const ir::ObjectInfo* owner = at->function->owner.empty() ? nullptr : find_object(at->function->owner);
    if (owner != nullptr && owner->kind == TypeKind::Block) return true;
  }
  return false;
}

// What a step draws, by itself or in a function, may be the input of a generator, and meet inputs beside each other in a
// `cat`; added to inputs, or to what was computed from them, it is noise in what is measured. In a block only masks count:
// what is masked by hand stays masked in evaluation.
void Trace::look_at_randomness(const ir::Op& op, const Operands& operands, Value& value, const Frame& frame) {
  if (root_->role != ir::Role::Step) return;
  const std::string step = root_->name.substr(root_->name.rfind('.') + 1);
  if (step != kValRole && step != kTestRole) return;
  const library::Function& function = library::info(op.function);
  const bool meets_input =
      std::any_of(operands.begin(), operands.end(), [](const Value* one) { return one->holds_input(); });
  if (!frame.function->is_library) {
    const bool is_mask = function.draws == Draws::Mask ||
                         (is_comparison(op.function) && !operands.empty() && operands[0]->is_uniform_draw);
    const bool is_own_draw = function.always_draws() && !is_in_block(frame);
    if (is_mask || (is_own_draw && meets_input))
      findings.draws.push_back({op.loc.span, step, is_mask, outer_span(op, frame)});
    if (is_mask) return;  // the mistake is said; what meets the mask is none of its own
    if (is_own_draw && !meets_input) value.noise = op.loc.span;
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::optional<Span> noise = operands[i]->held_noise();
    if (!noise) continue;
    bool is_alone = !operands[i]->holds_input();
    // What is only arranged anew meets nothing; what says how it is, such as an index, does.
    const bool is_arranged = function.rearranges && i == 0;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (k == i) continue;
      is_alone = is_alone && !operands[k]->varies && operands[k]->paths.empty();
      if (operands[k]->holds_input() && !is_arranged)
        findings.draws.push_back({*noise, step, false, outer_span(op, frame)});
    }
    if (is_alone) value.noise = noise;
  }
}

}  // namespace ltr::training_logic
