#include "codegen/training_logic/trace.h"

#include <algorithm>

namespace ltr::training_logic {

using ir::OpKind;
using ir::TypeKind;

namespace {

/// Enough for models of thousands of layers; what is beyond is W0403, and no rule speaks about it.
constexpr size_t kMaxOps = 300'000;
/// A loop over what is known about values is stable after as many rounds as it carries values; in
/// practice after two.
constexpr int kMaxRounds = 16;
/// Blocks of one list that are told apart.
constexpr int64_t kMostApart = 64;

bool same(const std::vector<Known>& left, const std::vector<Known>& right) {
  return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(),
                                                   [](const Known& a, const Known& b) { return a->same_as(*b); });
}

size_t count(const Findings& findings) {
  return findings.updates.size() + findings.doubled.size() + findings.draws.size() + findings.metrics.size() +
         findings.second_owners.size() + findings.statistics.size() + findings.patterns.size() +
         findings.misfits.size() + findings.mixed_samples.size() + findings.averages.size() +
         findings.turned_masks.size() + findings.picked_rows.size() + findings.idle_calls.size() +
         findings.shown_scores.size() + findings.no_signs.size() + findings.single_axes.size() +
         findings.other_axes.size() + findings.lost_clips.size() + findings.sides.size() +
         findings.unsummed_axes.size() + findings.shared_noises.size() + findings.scaled_noises.size() +
         findings.log_variances.size() + findings.record_sums.size();
}

bool holds_block(const ir::Type& type) {
  return type.is(TypeKind::Block) ||
         std::ranges::any_of(type.fields, [](const ir::Field& field) { return holds_block(field.type); });
}

/// Whether one of the blocks of a list is taken by its number, `layers[0]` or `layers[i]`, but for a loop that takes all of them.
class TakenElements {
 public:
  explicit TakenElements(const ir::Function& function) : function_(function) {}

  bool has_some(const ir::Region& region) {
    return std::ranges::any_of(region.ops, [&](const ir::Op& op) {
      if (op.kind == OpKind::ListLength) lengths_.insert(op.results[0]);
      const bool is_whole = op.kind == OpKind::For && lengths_.contains(op.operands[1]);
      if (is_whole) indices_.insert(op.regions[0].params[0]);
      if (op.kind == OpKind::ListGet && !indices_.contains(op.operands[1]) &&
          holds_block(function_.values[op.results[0]].type))
        return true;
      return std::ranges::any_of(op.regions, [&](const ir::Region& inner) { return has_some(inner); });
    });
  }

 private:
  const ir::Function& function_;
  std::set<ir::ValueId> lengths_;
  std::set<ir::ValueId> indices_;  ///< of loops over whole lists
};

}  // namespace

Trace::Trace(const ir::Module& module, Heap& heap) : module_(module), heap_(heap) {
  for (const ir::Function& function : module.functions) functions_.emplace(function.name, &function);
  tells_elements_apart_ =
      std::any_of(module.functions.begin(), module.functions.end(), [](const ir::Function& function) {
        return !function.is_library && TakenElements(function).has_some(function.body);
      });
  for (const ir::ObjectInfo& object : module.tables->objects) objects_.emplace(object.name, &object);
}

const ir::Function* Trace::find(std::string_view function) const {
  const auto known = functions_.find(function);
  return known == functions_.end() ? nullptr : known->second;
}

const ir::ObjectInfo* Trace::find_object(std::string_view name) const {
  const auto known = objects_.find(name);
  return known == objects_.end() ? nullptr : known->second;
}

// ---- places and values

const Known& Trace::known(ir::ValueId id, const Frame& frame) const {
  const ir::Value& value = frame.function->values[id];
  if (!value.constant) return frame.values[id] ? frame.values[id] : nothing_;
  Known& constant = constants_[&*value.constant];
  if (!constant) {
    Value made = Value::of(*value.constant);
    made.is_none = std::holds_alternative<ir::NoneConstant>(*value.constant) && !value.type.is(TypeKind::Function);
    constant = new Value(std::move(made));
  }
  return constant;
}

Value Trace::joined_operands(const ir::Op& op, const Frame& frame) const {
  Value value;
  for (const ir::ValueId id : op.operands) depend(value, use(id, frame));
  return value;
}

Span Trace::user_span(const ir::Op& op, const Frame& frame) const {
  const Frame* at = &frame;
  const ir::Op* place = &op;
  while (at->function->is_library && at->site != nullptr) {
    place = at->site;
    at = at->caller;
  }
  return place->element.is_empty() ? place->loc.span : place->element;
}

Span Trace::written_span(const ir::Op& op, size_t operand, const Frame& frame) const {
  const bool is_here = !frame.function->is_library && operand < op.written.size() && !op.written[operand].is_empty();
  return is_here ? op.written[operand] : user_span(op, frame);
}

Span Trace::outer_span(const ir::Op& op, const Frame& frame) const {
  const ir::Op* place = &op;
  for (const Frame* at = &frame; at->site != nullptr; at = at->caller) place = at->site;
  return place->loc.span;
}

VersionId Trace::version_of(OwnerId owner) const {
  const auto known = versions_.find(owner);
  return known == versions_.end() ? 0 : known->second;
}

VersionId Trace::version_at(const ir::Op& op, OwnerId owner, Span span) {
  const auto [place, is_new] = version_ids_.try_emplace({&op, owner}, VersionId(update_spans_.size()));
  if (is_new) update_spans_.push_back(span);
  return place->second;
}

Value Trace::parameter(const ir::Type& type) const {
  Value value = Value::varying();
  value.identity = new_identity();
  if (type.is_object() || type.is(TypeKind::Optimizer) || type.is(TypeKind::Weights) || type.is(TypeKind::Function))
    return Value::unknown();
  value.is_uniform = type.is(TypeKind::List);
  value.may_be_none = type.is(TypeKind::Option);
  if (type.is(TypeKind::Record) || type.is(TypeKind::Tuple) || type.is(TypeKind::List)) {
    for (const ir::Field& field : type.fields) value.parts.push_back(new Value(parameter(field.type)));
  }
  return value;
}

// ---- functions

void Trace::start_anew() {
  heap_ = {};
  version_ids_.clear();
  update_spans_ = {Span{}};
  closures_.clear();
  fills_ = {Fill{}};
  draws_ = {SharedNoise{}};
  totals_ = {Total{}};
  sums_.clear();
  logarithms_.clear();
}

void Trace::run(const ir::Function& function, std::optional<ObjectId> self) {
  root_ = &function;
  versions_.clear();
  gradients_ = {};
  reached_.clear();
  taken_.clear();
  begun_anew_.clear();
  frozen_.clear();
  no_grad_.clear();
  active_.clear();
  budget_ = kMaxOps;
  std::vector<Known> arguments;
  for (const ir::ValueId param : function.body.params) {
    const ir::Type& type = function.values[param].type;
    Value value = parameter(type);
    value.is_of_input = function.role == ir::Role::Step && type.is_tensor();
    value.is_field = value.is_of_input && !type.dims.empty() && type.element == ir::Element::I64;
    arguments.push_back(new Value(std::move(value)));
  }
  if (self && !arguments.empty()) arguments[0] = new Value(Value::object(*self));
  call(function, std::move(arguments), nullptr, nullptr);
  if (!function.has_error) note_left_gradients();
}

Known Trace::call(const ir::Function& function, std::vector<Known> arguments, const Frame* caller, const ir::Op* site) {
  followed_.insert(&function);
  findings.has_error = findings.has_error || function.has_error;
  const bool is_opaque = function.has_error && function.body.ops.empty();
  // A function that calls itself is an error of its own.
  if (is_opaque || arguments.size() != function.body.params.size() || !active_.insert(&function).second)
    return unknown_;
  Frame frame;
  frame.function = &function;
  frame.caller = caller;
  frame.site = site;
  frame.values.resize(function.values.size());
  for (size_t i = 0; i < arguments.size(); ++i) frame.values[function.body.params[i]] = std::move(arguments[i]);
  std::vector<Known> yielded;
  region(function.body, frame, yielded);
  active_.erase(&function);
  if (frame.result) return std::move(frame.result);
  return function.has_error ? unknown_ : nothing_;
}

bool Trace::region(const ir::Region& region, Frame& frame, std::vector<Known>& yielded) {
  for (const ir::Op& one : region.ops) {
    if (budget_ == 0) {
      findings.has_error = true;
      findings.cut.insert(root_->loc.span);
      return false;
    }
    --budget_;
    if (one.kind == OpKind::Yield) {
      yielded.clear();
      for (const ir::ValueId id : one.operands) yielded.push_back(known(id, frame));
      return true;
    }
    if (one.kind == OpKind::Return) {
      // Code that is broken may have returned something all the same.
      const bool is_lost = one.operands.empty() && frame.function->has_error;
      const Known& value = is_lost ? unknown_ : one.operands.empty() ? nothing_ : known(one.operands[0], frame);
      frame.result = frame.result ? Known(new Value(join(*frame.result, *value))) : value;
      return false;
    }
    if (!op(one, frame)) return false;
  }
  return true;
}

// ---- regions

// Where only one side updates weights, the versions after both sides are a new one, so that what
// was computed before is stale and what was computed last on either side is not.
bool Trace::branch(const ir::Op& op, Frame& frame) {
  const Known condition = known(op.operands[0], frame);
  const bool* chosen = condition->constant ? std::get_if<bool>(&*condition->constant) : nullptr;
  const Versions before = versions_;
  const Gradients had = gradients_;
  Versions ends[2];
  Gradients left[2];
  std::vector<Known> yields[2];
  bool goes_on[2] = {false, false};
  for (size_t side = 0; side < 2 && side < op.regions.size(); ++side) {
    if (chosen != nullptr && *chosen != (side == 0)) continue;
    versions_ = before;
    gradients_ = had;
    unsure_ += chosen == nullptr ? 1 : 0;
    goes_on[side] = region(op.regions[side], frame, yields[side]);
    unsure_ -= chosen == nullptr ? 1 : 0;
    ends[side] = versions_;
    left[side] = gradients_;
  }
  if (!goes_on[0] && !goes_on[1]) return false;
  const size_t first = goes_on[0] ? 0 : 1;
  versions_ = ends[first];
  gradients_ = goes_on[0] && goes_on[1] ? Gradients::join(left[0], left[1]) : left[first];
  if (goes_on[0] && goes_on[1]) {
    std::set<OwnerId> updated;
    for (const Versions& end : ends) {
      for (const auto& [owner, version] : end) updated.insert(owner);
    }
    for (const OwnerId owner : updated) {
      const VersionId sides[2] = {ends[0].count(owner) != 0 ? ends[0].at(owner) : 0,
                                  ends[1].count(owner) != 0 ? ends[1].at(owner) : 0};
      if (sides[0] == sides[1]) continue;
      const VersionId joined = version_at(op, owner, update_spans_[std::max(sides[0], sides[1])]);
      for (size_t side = 0; side < 2; ++side) {
        for (Known& value : yields[side]) value = new Value(renamed(*value, {owner, sides[side]}, joined));
      }
      versions_[owner] = joined;
    }
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    Known value = i < yields[first].size() ? yields[first][i] : unknown_;
    if (goes_on[0] && goes_on[1] && i < yields[1].size()) {
      Value either = join(*value, *yields[1][i]);
      if (either.identity == 0 && !either.constant) either.identity = identity_of(*condition, *value, *yields[1][i]);
      value = new Value(std::move(either));
    }
    frame.values[op.results[i]] = std::move(value);
  }
  return true;
}

Known Trace::index_of(const ir::Op& op, const Frame& frame) const {
  const auto bound = [&](size_t i) -> const int64_t* {
    const auto& constant = use(op.operands[i], frame).constant;
    return constant ? std::get_if<int64_t>(&*constant) : nullptr;
  };
  const int64_t *from = bound(0), *to = bound(1);
  if (from == nullptr || to == nullptr || *from >= *to) return varying_;
  Value index = Value::varying();
  index.range = std::pair(*from, *to);
  return new Value(std::move(index));
}

// What the loop carries is followed until it does not change. Findings count from the last round
// alone: before, less was known. An update inside makes a version that stands for "after any number
// of rounds".
void Trace::loop(const ir::Op& op, Frame& frame, size_t first_carried) {
  std::vector<Known> carried;
  for (size_t i = first_carried; i < op.operands.size(); ++i) carried.push_back(known(op.operands[i], frame));
  Versions entry = versions_;
  const Findings before = findings;
  const size_t found = count(findings);
  std::vector<Known> outputs;
  const Known index = op.kind == OpKind::For ? index_of(op, frame) : varying_;
  for (int round = 0; round < kMaxRounds; ++round) {
    versions_ = entry;
    gradients_.cleared.clear();  // A round begins with what the one before left.
    gradients_.clipped.clear();
    std::vector<Known> yielded = carried;
    for (const ir::Region& inner : op.regions) {
      // Params that are not carried, such as the index, come first; so do results that are
      // gathered.
      const size_t own = inner.params.size() - std::min(inner.params.size(), carried.size());
      for (size_t i = 0; i < inner.params.size(); ++i)
        frame.values[inner.params[i]] = i < own ? index : carried[i - own];
      std::vector<Known> ends;
      const bool is_condition = op.kind == OpKind::While && &inner == &op.regions[0];
      if (!region(inner, frame, ends) || is_condition || ends.size() < carried.size()) continue;
      const auto first = ends.end() - long(carried.size());
      yielded.assign(first, ends.end());
      outputs.assign(ends.begin(), first);
    }
    bool is_stable = true;
    for (const auto& [owner, version] : Versions(versions_)) {
      const VersionId at_entry = entry.count(owner) != 0 ? entry.at(owner) : 0;
      if (version == at_entry) continue;
      const VersionId any = version_at(op, owner, update_spans_[version]);
      for (Known& value : yielded) value = new Value(renamed(*value, {owner, version}, any));
      if (at_entry == any) continue;
      for (Known& value : carried) value = new Value(renamed(*value, {owner, at_entry}, any));
      entry[owner] = any;
      is_stable = false;
    }
    std::vector<Known> next;
    for (size_t i = 0; i < carried.size(); ++i) next.push_back(new Value(join(*carried[i], *yielded[i])));
    is_stable = is_stable && same(next, carried);
    carried = std::move(next);
    if (is_stable) break;
    if (count(findings) != found) {
      const bool has_error = findings.has_error;
      findings = before;
      findings.has_error = has_error;
    }
  }
  for (const auto& [owner, version] : entry) versions_[owner] = version;
  gradients_.cleared.clear();
  gradients_.clipped.clear();
  const size_t gathered = op.results.size() - std::min(op.results.size(), carried.size());
  for (size_t i = 0; i < op.results.size(); ++i) {
    Known& result = frame.values[op.results[i]];
    result = unknown_;
    if (i >= gathered) {
      result = carried[i - gathered];
    } else if (i < outputs.size()) {
      Value list;
      list.is_uniform = true;
      list.parts = {outputs[i]};
      result = new Value(std::move(list));
    }
  }
}

void Trace::severed_region(const ir::Op& op, Frame& frame) {
  no_grad_.push_back({op.loc.span, "`no_grad`", true});
  std::vector<Known> yielded;
  for (const ir::Region& inner : op.regions) region(inner, frame, yielded);
  no_grad_.pop_back();
  for (size_t i = 0; i < op.results.size(); ++i)
    frame.values[op.results[i]] = i < yielded.size() ? yielded[i] : unknown_;
}

void Trace::frozen_region(const ir::Op& op, Frame& frame) {
  std::set<WeightId> weights;
  for (const WeightUse& one : weights_in(use(op.operands[0], frame), op.loc.span)) weights.insert(one.weight);
  frozen_.push_back({std::move(weights), user_span(op, frame)});
  std::vector<Known> yielded;
  for (const ir::Region& inner : op.regions) region(inner, frame, yielded);
  frozen_.pop_back();
  for (size_t i = 0; i < op.results.size(); ++i)
    frame.values[op.results[i]] = i < yielded.size() ? yielded[i] : unknown_;
}

void Trace::comprehension(const ir::Op& op, Frame& frame) {
  const ir::Region& inner = op.regions[0];
  Value list;
  const auto add_part = [&](const Known& variable) {
    for (const ir::ValueId param : inner.params) frame.values[param] = variable;
    std::vector<Known> yielded;
    region(inner, frame, yielded);
    if (!yielded.empty()) list.parts.push_back(std::move(yielded[0]));
  };
  const std::optional<ir::Constant>&from = use(op.operands[0], frame).constant,
        &to = use(op.operands[1], frame).constant;
  const auto* first = from ? std::get_if<int64_t>(&*from) : nullptr;
  const auto* end = to ? std::get_if<int64_t>(&*to) : nullptr;
  if (tells_elements_apart_ && first != nullptr && end != nullptr && *first < *end && *end - *first <= kMostApart) {
    for (int64_t i = *first; i < *end; ++i) add_part(new Value(Value::of(i)));
  } else {
    list.is_uniform = true;
    add_part(varying_);
  }
  frame.values[op.results[0]] = new Value(std::move(list));
}

void Trace::closure(const ir::Op& op, Frame& frame) {
  Value value;
  value.closures = {uint32_t(closures_.size())};
  closures_.emplace_back(&op, frame);
  frame.values[op.results[0]] = new Value(std::move(value));
}

// The code of a function value sees what was known where it was made.
Known Trace::call_value(const ir::Op& op, Frame& frame) {
  const Known function = known(op.operands[0], frame);
  if (function->closures.empty()) return unknown_;
  Known result;
  for (const uint32_t id : function->closures) {
    Frame inner = closures_[id].second;
    inner.caller = &frame;
    inner.site = &op;
    const ir::Region& code = closures_[id].first->regions[0];
    for (size_t i = 0; i < code.params.size() && i + 1 < op.operands.size(); ++i)
      inner.values[code.params[i]] = known(op.operands[i + 1], frame);
    std::vector<Known> yielded;
    region(code, inner, yielded);
    const Known& one = yielded.empty() ? unknown_ : yielded[0];
    result = result ? Known(new Value(join(*result, *one))) : one;
  }
  return result;
}

bool Trace::op(const ir::Op& op, Frame& frame) {
  switch (op.kind) {
    case OpKind::If: return branch(op, frame);
    case OpKind::For: loop(op, frame, 2); return true;
    case OpKind::While: loop(op, frame, 0); return true;
    case OpKind::Scan: loop(op, frame, 2); return true;
    case OpKind::Function: closure(op, frame); return true;
    case OpKind::NoGrad: severed_region(op, frame); return true;
    case OpKind::FrozenRegion: frozen_region(op, frame); return true;
    case OpKind::Comprehension: comprehension(op, frame); return true;
    case OpKind::Minimize:
    case OpKind::Backward: update(op, frame); return true;
    case OpKind::Trainer: trainer(op, frame); return true;
    default: break;
  }
  Known value = value_of(op, frame);
  if (value->identity == 0 && !value->constant) {
    // What was drawn is one value, however often it is read.
    const bool is_drawn = op.kind == OpKind::CallOp && library::info(op.function).draws != library::Draws::Never;
    const uint64_t known = identity_of(op, frame);
    if (const uint64_t identity = known == 0 && is_drawn ? new_identity() : known) {
      Value named = *value;
      named.identity = identity;
      value = new Value(std::move(named));
      note_terms(op, identity, frame);
    }
  }
  // What is computed there has no gradient. A value from outside keeps its own, also under another name or as a part.
  const bool computes = op.kind == OpKind::CallOp || op.kind == OpKind::CallExtern || op.kind == OpKind::Convert;
  if (!no_grad_.empty() && computes && !(op.kind == OpKind::Convert && value == known(op.operands[0], frame)))
    value = new Value(severed(*value, no_grad_.back()));
  for (const ir::ValueId result : op.results) frame.values[result] = value;
  return true;
}

std::string Trace::called_name(std::string_view name, const Frame& frame) const {
  std::string called(name);
  for (const Frame* at = &frame; at != nullptr && at->function->is_library; at = at->caller) {
    if (at->function->role == ir::Role::Free) called = at->function->name.substr(at->function->name.rfind('.') + 1);
  }
  return called;
}

bool Trace::has_logs_second(const ir::Op& op, Frame& frame) {
  return op.operands.size() > 1 && use(op.operands[1], frame).activation.function == library::Id::LogSoftmax;
}

}  // namespace ltr::training_logic
