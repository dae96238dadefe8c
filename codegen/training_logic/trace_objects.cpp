// Constructors: what objects, weights and optimizers there are.
#include <algorithm>

#include "codegen/training_logic/rules.h"
#include "codegen/training_logic/trace.h"
#include "dsl/host/math.h"
#include "runtime/tables/weight_pattern.h"

namespace ltr::training_logic {

using ir::OpKind;
using ir::TypeKind;

/// What a constructor may do: each object that it makes stays in memory.
constexpr size_t kMaxBuilt = 100'000;
/// What all of them may do, of a program with thousands of blocks that each hold the one before.
constexpr size_t kMaxBuiltInAll = 500'000;
/// Blocks within blocks: each has a path as long as it is deep.
constexpr size_t kMaxNested = 256;

ObjectId Trace::build(const ir::ObjectInfo& info) {
  const auto id = ObjectId(heap_.objects.size());
  heap_.objects.push_back({.name = info.name, .is_library = info.is_library, .scope = {++heap_.roots, ""}});
  const Scope scope = heap_.objects[id].scope;
  const ir::Function* constructor = find(info.constructor);
  if (constructor == nullptr) {
    findings.has_error = true;
    return id;
  }
  root_ = constructor;
  const size_t given = std::min(kMaxBuilt, kMaxBuiltInAll - built_);
  budget_ = given;
  active_.clear();
  std::vector<Known> arguments;
  for (const ir::ValueId param : constructor->body.params) {
    const ir::Value& declared = constructor->values[param];
    Value value = parameter(declared.type);
    if (declared.type.is(TypeKind::Scope)) value.scope = scope;
    arguments.push_back(new Value(std::move(value)));
    if (arguments.size() > 1) heap_.objects[id].params[declared.name] = arguments.back();
  }
  if (!arguments.empty()) arguments[0] = new Value(Value::object(id));
  call(*constructor, std::move(arguments), nullptr, nullptr);
  built_ += given - budget_;
  return id;
}

std::optional<ObjectId> Trace::build_wired(const ir::Function& make_model) {
  root_ = &make_model;
  budget_ = kMaxBuilt;
  active_.clear();
  std::vector<Known> arguments;
  for (const ir::ValueId param : make_model.body.params) {
    const ir::Type& type = make_model.values[param].type;
    Value value = parameter(type);
    if (type.is(TypeKind::Scope)) value.scope = Scope{++heap_.roots, ""};
    arguments.push_back(new Value(std::move(value)));
  }
  const Known made = call(make_model, std::move(arguments), nullptr, nullptr);
  if (made->objects.size() != 1) return std::nullopt;
  return *made->objects.begin();
}

ObjectId Trace::build_callback(const std::string& name, ObjectId model) {
  const auto id = ObjectId(heap_.objects.size());
  heap_.objects.push_back({.name = name, .scope = {++heap_.roots, ""}});
  heap_.objects[id].members["model"].value = new Value(Value::object(model));
  return id;
}

Known Trace::construct(const ir::Op& op, Frame& frame) {
  const ir::ObjectInfo* info = find_object(op.name);
  const ir::Function* constructor = info != nullptr ? find(info->constructor) : nullptr;
  // Data has no weights and is not followed.
  if (constructor == nullptr) return new Value(joined_operands(op, frame));
  if (nested_ == kMaxNested) {
    findings.has_error = true;
    findings.cut.insert(root_->loc.span);
    return unknown_;
  }
  const auto id = ObjectId(heap_.objects.size());
  heap_.objects.push_back({.name = op.name, .is_library = info->is_library});
  const Known made = new Value(Value::object(id));
  std::vector<Known> arguments;
  arguments.reserve(1 + op.operands.size());
  arguments.push_back(made);
  for (const ir::ValueId operand : op.operands) arguments.push_back(known(operand, frame));
  const bool has_scope = arguments.size() > 1 && arguments[1]->scope;
  heap_.objects[id].span = user_span(op, frame);
  heap_.objects[id].scope = has_scope ? *arguments[1]->scope : Scope{++heap_.roots, ""};
  for (size_t i = 1; i < arguments.size() && i < constructor->body.params.size(); ++i) {
    const ir::Value& param = constructor->values[constructor->body.params[i]];
    heap_.objects[id].params[param.name] = arguments[i];
  }
  // Blocks nest: the one of the same declaration within it is built by another call.
  const bool was_active = active_.erase(constructor) != 0;
  ++nested_;
  call(*constructor, std::move(arguments), &frame, &op);
  --nested_;
  if (was_active) active_.insert(constructor);
  return made;
}

Value Trace::place(const ir::Op& op, Frame& frame) {
  Value place;
  if (op.kind == OpKind::TestRoot) {
    place.scope = Scope{++heap_.roots, ""};
    return place;
  }
  const Value& of = use(op.operands[0], frame);
  if (op.kind == OpKind::ScopeOf) {
    if (of.weights.size() == 1) {
      place.scope = heap_.weights[of.weights[0].weight].places[0];
      return place;
    }
    place.is_unknown = of.objects.size() != 1;
    place.element = of.element;
    if (!place.is_unknown) place.scope = heap_.objects[of.objects[0]].scope;
    return place;
  }
  if (!of.scope) return Value::unknown();
  std::string name = op.name;
  if (op.kind == OpKind::PlaceElement) {
    const Value& index = use(op.operands[1], frame);
    const int64_t* known = index.constant ? std::get_if<int64_t>(&*index.constant) : nullptr;
    name = known != nullptr ? std::to_string(*known) : "*";
  }
  place = of;
  place.scope = of.scope->below(name);
  return place;
}

Value Trace::weights(const ir::Op& op, Frame& frame) {
  Value value;
  if (op.kind == OpKind::JoinWeights) {
    for (const ir::ValueId id : op.operands) {
      const Value& part = use(id, frame);
      value.is_unknown = value.is_unknown || part.is_unknown;
      value.weights.insert(value.weights.end(), part.weights.begin(), part.weights.end());
      value.frozen.insert(value.frozen.end(), part.frozen.begin(), part.frozen.end());
    }
    return value;
  }
  Value of = use(op.operands[0], frame);
  if (op.kind == OpKind::WeightsOfOptimizer) {
    of.optimizer.reset();
    return of;
  }
  if (!of.scope) return Value::unknown();
  value.weights = heap_.weights_at(*of.scope, user_span(op, frame));
  for (WeightUse& use : value.weights) {
    use.is_part = op.find("part") != nullptr;
    use.element = of.element;
  }
  if (!value.weights.empty()) return value;
  const auto held = std::ranges::find_if(heap_.weights, [&](const Weight& weight) {
    return std::ranges::any_of(weight.places, [&](const Scope& place) { return of.scope->holds(place); });
  });
  if (held != heap_.weights.end())
    value.frozen.push_back({WeightId(held - heap_.weights.begin()), *of.scope, user_span(op, frame)});
  return value;
}

std::optional<int64_t> Trace::size_of(ir::DimId id, const Frame& constructor) const {
  using Kind = ir::Dim::Kind;
  const ir::Dim& dim = module_.dims[id];
  if (dim.kind == Kind::Number) return dim.number;
  if (dim.kind == Kind::Name) {
    for (const ir::ValueId param : constructor.function->body.params) {
      if (constructor.function->values[param].name != dim.name) continue;
      const std::optional<ir::Constant>& given = use(param, constructor).constant;
      const int64_t* number = given ? std::get_if<int64_t>(&*given) : nullptr;
      return number != nullptr ? std::optional(*number) : std::nullopt;
    }
    return std::nullopt;
  }
  if (dim.kind != Kind::Product && dim.kind != Kind::Sum && dim.kind != Kind::Exact) return std::nullopt;
  const auto left = size_of(dim.left, constructor), right = size_of(dim.right, constructor);
  if (!left || !right) return std::nullopt;
  if (dim.kind == Kind::Exact) return host::exact_div(*left, *right);
  const auto size = host::fold(dim.kind == Kind::Sum ? host::Op::Add : host::Op::Mul, *left, *right);
  return size ? std::optional(std::get<int64_t>(*size)) : std::nullopt;
}

Known Trace::made_weight(const ir::Op& op, Frame& frame) {
  const Value& scope = use(op.operands[0], frame);
  const Known& initial = known(op.operands[1], frame);
  if (initial->is_none) return initial;
  if (op.kind == OpKind::MakeBuffer) return varying_;
  if (!scope.scope) return unknown_;
  Scope place = scope.scope->below(op.name);
  // A weight whose initial value is another weight is that weight.
  if (!initial->weights.empty()) {
    for (const WeightUse& tied : initial->weights) heap_.weights[tied.weight].places.push_back(place);
    return initial;
  }
  Value made;
  const auto [at, is_new] = heap_.weight_at.try_emplace(place, WeightId(heap_.weights.size()));
  made.weights.push_back({at->second, place, op.loc.span});
  if (is_new) {
    Weight& weight = heap_.weights.emplace_back();
    weight.places.push_back(std::move(place));
    const ir::Type& type = frame.function->values[op.results[0]].type;
    const std::vector<ir::DimId>& dims = (type.is(TypeKind::Option) ? type.fields[0].type : type).dims;
    weight.rank = dims.size();
    weight.is_sure = unsure_ == 0 && !initial->may_be_none;
    for (const ir::DimId dim : dims) weight.sizes.push_back(size_of(dim, frame));
  }
  made.varies = true;
  return new Value(std::move(made));
}

// What rests on an hparam, nobody knows here.
Value Trace::made_setting(const ir::Op& op, const Frame& frame) const {
  Value value = joined_operands(op, frame);
  if (op.kind == OpKind::MakeValue) {
    if (op.operands.size() == 1 && use(op.operands[0], frame).constant == ir::Constant(true))
      value.maximize = op.loc.span;
    return value;
  }
  const ir::Texts& names = op.texts("names");
  for (size_t i = 0; i < names.size() && i < op.operands.size(); ++i) {
    if (names[i] == "maximize") value.maximize = use(op.operands[i], frame).maximize;
  }
  return value;
}

Value Trace::made_optimizer(const ir::Op& op, Frame& frame) {
  const auto id = OwnerId(heap_.owners.size());
  const Value& weights = use(op.operands[2], frame);
  Owner owner;
  owner.name = op.name;
  owner.span = op.loc.span;
  owner.weights = weights.weights;
  owner.is_unknown = weights.is_unknown;
  owner.maximize = use(op.operands[1], frame).maximize;
  const Groups groups = groups_of(op, frame);
  owner.rules = rules_of(op, groups, weights);
  heap_.owners.push_back(owner);
  for (const WeightUse& one : owner.weights) {
    Weight& weight = heap_.weights[one.weight];
    weight.is_owned_whole = weight.is_owned_whole || !one.element;
    if (weight.owner == 0) {
      weight.owner = id;
      continue;
    }
    if (weight.owner != id) heap_.owners[id].is_contested = true;
    for (const WeightUse& first : heap_.owners[weight.owner].weights) {
      if (first.weight != one.weight || (first.element && one.element && first.element != one.element)) continue;
      // In one list a tied weight may well stand under both of its names, and a shared block beside what holds it.
      const bool is_said_twice =
          !first.is_part && !one.is_part && (first.scope.holds(one.scope) || one.scope.holds(first.scope));
      if (weight.owner != id || (first.span != one.span && is_said_twice))
        findings.second_owners.push_back({one, first, id});
      break;
    }
  }
  for (const WeightUse& one : weights.frozen) findings.frozen_parts.push_back({one, id});
  note_groups(op, groups, weights);
  Value value;
  value.optimizer = id;
  value.weights = owner.weights;
  value.is_unknown = owner.is_unknown;
  return value;
}

void Trace::made_metric(const ir::Op& op, Frame& frame) {
  const ir::Function* make = find(op.text("make"));
  if (make == nullptr) return;
  const Known owner = known(op.operands[0], frame);
  const Known metric = call(*make, {owner}, &frame, &op);
  for (const ObjectId id : owner->objects) heap_.objects[id].members[op.name].value = metric;
}

Value Trace::chosen_by_pattern(const ir::Op& op, Frame& frame) {
  const Value& scope = use(op.operands[0], frame);
  if (!scope.scope) return {};
  // The model is the outermost that has the rule; a test that builds it is around it.
  std::string of;
  for (const Frame* around = &frame; around != nullptr; around = around->caller) {
    if (!around->function->owner.empty()) of = around->function->owner;
  }
  Pattern found{op.loc.span, op.text("pattern"), of, heap_.weights_at(*scope.scope, {}), true};
  if (const ir::Function* init = find(op.text("fn"))) {
    for (const ir::Op& made : init->body.ops) {
      if (library::info(made.function).begins_matrices) found.begins_matrices = library::info(made.function).name;
    }
  }
  findings.patterns.push_back(std::move(found));
  return {};
}

Trace::Groups Trace::groups_of(const ir::Op& op, const Frame& frame) const {
  Groups groups;
  for (const ir::ValueId operand : op.operands) {
    if (const ir::Op* group = use(operand, frame).group) groups.push_back(group);
  }
  return groups;
}

/// What moves each of `weights`: the rule of the first group that takes it, or the optimizer's.
std::vector<library::Id> Trace::rules_of(const ir::Op& op, const Groups& groups, const Value& weights) const {
  const auto named = [](const std::string& name) { return library::find(library::Space::Settings, name); };
  std::vector<library::Id> rules(weights.weights.size(), named(op.text("rule")));
  for (size_t i = 0; i < rules.size(); ++i) {
    const auto first = std::find_if(groups.begin(), groups.end(), [&](const ir::Op* group) {
      return takes(group->text("pattern"), weights.weights[i], heap_);
    });
    if (first == groups.end()) continue;
    const std::string& rule = (*first)->text("rule");
    if (!rule.empty()) rules[i] = named(rule);
  }
  return rules;
}

void Trace::note_groups(const ir::Op& op, const Groups& groups, const Value& weights) {
  if (weights.is_unknown || weights.weights.empty()) return;
  for (size_t i = 0; i < groups.size(); ++i) {
    const ir::Op& group = *groups[i];
    findings.patterns.push_back({group.loc.span, group.text("pattern"), op.name, weights.weights, false, false, "", i});
  }
}

// Members of a constructor's own object that are made later are not asked for by its code.
Known Trace::member(const ir::Op& op, Frame& frame) {
  const Value& base = use(op.operands[0], frame);
  if (base.objects.empty()) return base.is_unknown ? unknown_ : varying_;
  if (op.kind == OpKind::ReadBuffer) return varying_;
  const auto member_of = [&](ObjectId id) -> const Known& {
    const Known* known = heap_.objects[id].find(op.name);
    return known != nullptr ? *known : unknown_;
  };
  Known value = member_of(base.objects[0]);
  for (size_t i = 1; i < base.objects.size(); ++i) value = new Value(join(*value, *member_of(base.objects[i])));
  const bool is_read = op.kind == OpKind::ReadParam && !value->is_none && !value->is_unknown;
  if (is_read) return new Value(read_weight(*value, op, frame));
  if (!base.element || value->objects.empty()) return value;
  Value of_element = *value;
  of_element.element = base.element;
  return new Value(std::move(of_element));
}

void Trace::freeze(const ir::Op& op, Frame& frame) {
  const std::optional<Scope> place = use(op.operands[0], frame).scope;
  if (!place) return;
  const ir::NameRules rules = op.name_rules("rules");
  for (Weight& weight : heap_.weights) {
    for (const Scope& at : weight.places) {
      if (!place->holds(at) || at.path.size() <= place->path.size()) continue;
      const std::string path = place->name_of(at);
      for (const NameRule& rule : rules) {
        if (rule.kind == NameRule::Kind::Freeze && matches(rule.pattern, path)) weight.is_frozen = true;
      }
    }
  }
}

Value Trace::read_weight(const Value& weight, const ir::Op& op, const Frame& frame) {
  Value value = Value::varying();
  value.weights = weight.weights;
  if (weight.weights.size() == 1) value.identity = identity_of(weight.weights[0].weight);
  for (const WeightUse& use : weight.weights) {
    Weight& read = heap_.weights[use.weight];
    const Cut* cut = no_grad_.empty() ? nullptr : &no_grad_.back();
    std::optional<Cut> frozen;
    for (const auto& [weights, span] : frozen_) {
      if (weights.count(use.weight) != 0) frozen = Cut{span, "`frozen`", true};
    }
    if (read.is_frozen) frozen = Cut{user_span(op, frame), "`freeze`", true};
    if (frozen) cut = &*frozen;
    if (is_train_step()) (frozen ? read.is_read_frozen : read.is_read) = true;
    read.is_used = true;
    read.is_reached = read.is_reached || (is_train_step() && cut == nullptr);
    if (cut != nullptr) {
      value.cuts.try_emplace(read.owner, *cut);
      continue;
    }
    const Snapshot now{read.owner, version_of(read.owner)};
    value.leaves.insert(now);
    value.reached.insert(use.weight);
    value.paths.emplace(Path{now, now}, outer_span(op, frame));
  }
  return value;
}

std::vector<WeightUse> Trace::weights_in(const Value& value, Span span) const {
  if (!value.weights.empty()) return value.weights;
  std::vector<WeightUse> found;
  for (const ObjectId id : value.objects) {
    for (const WeightUse& one : heap_.weights_at(heap_.objects[id].scope, span)) found.push_back(one);
  }
  for (const Known& part : value.parts) {
    for (const WeightUse& one : weights_in(*part, span)) found.push_back(one);
  }
  return found;
}

}  // namespace ltr::training_logic
