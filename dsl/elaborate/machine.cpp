#include "dsl/elaborate/machine.h"

#include <algorithm>

#include "dsl/check/walk.h"
#include "dsl/elaborate/groups.h"
#include "dsl/elaborate/host_value.h"

/// Objects, calls and statements.
namespace ltr::elaborate {

using check::Kind;
using check::MemberKind;
namespace stmt = check::stmt;

const check::Object& Machine::decl_of(const Object& object) const {
  switch (object.kind) {
    case Kind::Model: return program_.models[object.decl];
    case Kind::Metric: return program_.metrics[object.decl];
    case Kind::Data: return program_.datas[object.decl].object;
    case Kind::CallbackValue: return program_.callbacks[object.decl];
    default: return program_.blocks[object.decl];
  }
}

void Machine::unknown(const std::string& what, check::Span span) {
  if (reported_.emplace(what, span).second) plan_.unknown.push_back({what, span});
}

bool Machine::may_go_on(check::Span span) {
  plan_.is_cut = plan_.is_cut || (is_tracing && plan_.tape.size() > options_.most_operations);
  if (plan_.is_cut) return false;
  if (is_tracing || (steps_ < kMaxSteps && plan_.tree.objects.size() < kMaxObjects)) {
    ++steps_;
    return true;
  }
  unknown("what is built from here on: the model has more parts than are counted", span);
  return false;
}

void Machine::assign(check::LocalId local, Value value, Frame& frame) const {
  if (frame.locals != nullptr && local < frame.locals->size()) bind((*frame.locals)[local].type, value, frame.sizes);
  frame.values[local] = std::move(value);
}

void Machine::assign_anew(check::LocalId local, Value value, Frame& frame) const {
  if (frame.locals != nullptr && local < frame.locals->size()) {
    const check::Type& type = (*frame.locals)[local].type;
    if (type.value && type.value->single_atom()) frame.sizes.atoms.erase(*type.value->single_atom());
  }
  assign(local, std::move(value), frame);
}

// A weight whose first value is another weight is that weight.
Value Machine::add_weight(const check::Member& member, const std::string& path, Value value, const Frame& frame) {
  if (value.kind == Value::Kind::None) return value;
  if (is_exact() && value.kind == Value::Kind::Unknown) {
    plan_.tree.open.push_back(path);
    return value;
  }
  if (value.weight) {
    plan_.tree.places.emplace_back(path, *value.weight);
    return value;
  }
  const check::Type& type = member.type.kind == Kind::Option ? member.type.fields[0].type : member.type;
  Weight weight;
  weight.path = path;
  weight.element = type.element;
  weight.dims = dims_of(type, frame);
  // A dim that its type cannot name is that of its first value.
  for (size_t i = 0; i < weight.dims.size() && i < value.dims.size(); ++i) {
    if (!weight.dims[i]) weight.dims[i] = value.dims[i];
  }
  for (size_t i = 0; is_exact() && i < type.dims.size() && i < weight.dims.size(); ++i)
    weight.terms.push_back({.size = weight.dims[i] ? *weight.dims[i] : in_terms(type.dims[i].size, frame)});
  weight.is_buffer = member.kind == MemberKind::Buffer;
  Value result;
  result.kind = Value::Kind::Tensor;
  result.element = weight.element;
  result.dims = weight.dims;
  result.weight = WeightId(plan_.tree.weights.size());
  plan_.tree.places.emplace_back(path, *result.weight);
  plan_.tree.weights.push_back(std::move(weight));
  return result;
}

void Machine::freeze(const check::WeightSource& source, const std::string& place) {
  for (Weight& weight : plan_.tree.weights) {
    if (!is_below(weight.path, place) || weight.path == place) continue;
    const std::string name = weight_name(weight.path.substr(place.size() + 1));
    for (const check::WeightRule& rule : source.rules) {
      if (rule.kind == check::WeightRule::Kind::Freeze && matches(rule.pattern, name)) weight.is_frozen = true;
    }
  }
}

Value Machine::member_of(const check::Member& member, const std::optional<std::string>& place, Frame& frame) {
  const std::optional<std::string> path = place ? std::optional(below(*place, member.name)) : std::nullopt;
  switch (member.kind) {
    case MemberKind::Block: {
      if (!path) break;
      Value value = eval_at(*path, member.value, frame);
      if (member.source) freeze(*member.source, *path);
      return value;
    }
    case MemberKind::Weight:
    case MemberKind::Buffer: {
      Value value = eval(member.value, frame);
      return path ? add_weight(member, *path, std::move(value), frame) : value;
    }
    case MemberKind::Let: break;
    case MemberKind::Metric:
    case MemberKind::Optimizer:
    case MemberKind::State:
      if (is_exact()) return {};
      break;
  }
  return eval(member.value, frame);
}

// An object stands before those that are built for its params.
Value Machine::construct(const check::Type& type, const Arguments& args, const std::optional<std::string>& place) {
  const ObjectId id = ObjectId(plan_.tree.objects.size());
  plan_.tree.objects.emplace_back();
  plan_.tree.objects[id].kind = type.kind;
  plan_.tree.objects[id].decl = type.decl;
  plan_.tree.objects[id].path = place;
  const check::Object& decl = decl_of(plan_.tree.objects[id]);
  plan_.tree.objects[id].type = decl.name;
  if (decl.is_damaged && place) plan_.tree.open.push_back(*place);
  const bool was_tracing = is_tracing;
  is_tracing = false;
  Frame frame;
  frame.locals = &decl.locals;
  frame.self = id;
  if (is_exact()) frame.sizes.atoms.insert(type.arguments.begin(), type.arguments.end());
  for (size_t i = 0; i < decl.params.size() && i < args.count; ++i) {
    Value value = args.evaluate(i, decl.params[i].name);
    if (is_exact() && value.kind == Value::Kind::Unknown && decl.params[i].type.kind == Kind::Int)
      value = value_of(decl.params[i].type, frame);
    plan_.tree.objects[id].params[decl.params[i].name] = value;
    assign(check::LocalId(i), std::move(value), frame);
  }
  plan_.tree.objects[id].sizes = frame.sizes;
  for (const check::Member& member : decl.members) {
    // Streams are no sizes; what is asked of them is asked where it is used.
    Value value = type.kind == Kind::Data ? Value{} : member_of(member, place, frame);
    bind(member.type, value, plan_.tree.objects[id].sizes);
    plan_.tree.objects[id].members.emplace_back(member.name, std::move(value));
  }
  is_tracing = was_tracing;
  Value result;
  result.kind = Value::Kind::Object;
  result.whole = id;
  return result;
}

std::vector<GivenWeight> Machine::weights_at(const std::string& place) const {
  std::vector<GivenWeight> found;
  for (const WeightId id : plan_.tree.weights_at(place)) found.push_back({id, place});
  return found;
}

std::vector<GivenWeight> Machine::weights_of(const Value& value) const {
  if (value.kind == Value::Kind::Weights) return value.weights;
  if (value.place) return weights_at(*value.place);
  if (value.kind == Value::Kind::Object) {
    const Object& object = plan_.tree.objects[size_t(value.whole)];
    return object.path ? weights_at(*object.path) : std::vector<GivenWeight>{};
  }
  if (value.weight) {
    const Weight& weight = plan_.tree.weights[*value.weight];
    if (weight.is_buffer || weight.is_frozen) return {};
    return {{*value.weight, ""}};
  }
  std::vector<GivenWeight> result;
  for (const Value& item : value.items) {
    for (GivenWeight& weight : weights_of(item)) {
      const bool is_known =
          std::any_of(result.begin(), result.end(), [&](const GivenWeight& known) { return known.id == weight.id; });
      if (!is_known) result.push_back(std::move(weight));
    }
  }
  return result;
}

Value Machine::eval_at(const std::string& place, const check::ExprView& expr, Frame& frame) {
  const std::optional<std::string> outer = frame.place;
  frame.place = place;
  Value value = eval(expr, frame);
  if (value.kind == Value::Kind::Unknown) plan_.tree.open.push_back(place);
  frame.place = outer;
  return value;
}

Value Machine::apply(const Value& closure, std::vector<Value> args) {
  const Closure& made = closures_[size_t(closure.whole)];
  Frame frame = made.frame;
  for (size_t i = 0; i < args.size() && i < made.function->params.size(); ++i)
    assign(made.function->params[i], std::move(args[i]), frame);
  return eval(made.function->result, frame);
}

Value Machine::call(uint32_t fn, std::optional<ObjectId> self, std::vector<Value> args) {
  const check::Fn& code = program_.fns[fn];
  Frame frame;
  frame.locals = &code.locals;
  frame.self = self;
  for (size_t i = 0; i < args.size() && i < code.param_count; ++i) assign(check::LocalId(i), std::move(args[i]), frame);
  for (const check::Binder& binder : code.binders) {
    const check::Type& type = code.locals[binder.local].type;
    if (type.value) {
      if (const Size known = size_of(*type.value, frame)) frame.values[binder.local] = Value::of_int(*known);
    }
  }
  std::optional<Value> result = run(code.body, frame);
  if (self && is_tracing && code.name == "forward" && !plan_.tree.objects[*self].is_called) {
    Object& object = plan_.tree.objects[*self];
    object.is_called = true;
    // Of several results the first is the output, as of a recurrent layer.
    const Value* output = result ? &*result : nullptr;
    if (output != nullptr && output->kind == Value::Kind::List && !output->items.empty()) output = output->items.data();
    if (output != nullptr && output->kind == Value::Kind::Tensor) object.output = output->dims;
  }
  if (result) return std::move(*result);
  return {};
}

/// Runs one statement; what it gives is what the function returns.
struct Machine::StmtRunner {
  using Result = std::optional<Value>;

  Machine& machine;
  const check::Stmt& statement;
  Frame& frame;

  Result operator()(const stmt::Error&) const { return std::nullopt; }
  Result operator()(const stmt::Let& let) const {
    machine.assign(let.local, machine.eval(let.value, frame), frame);
    return std::nullopt;
  }
  Result operator()(const stmt::Unpack& unpack) const {
    const Value value = machine.eval(unpack.value, frame);
    for (size_t i = 0; i < unpack.locals.size(); ++i)
      machine.assign(unpack.locals[i], i < value.items.size() ? value.items[i] : Value{}, frame);
    return std::nullopt;
  }
  Result operator()(const stmt::Return& result) const {
    return result.value ? machine.eval(*result.value, frame) : Value{};
  }
  Result operator()(const stmt::Yield& yield) const {
    machine.yielded_ = machine.eval(yield.value, frame);
    return std::nullopt;
  }
  Result operator()(const stmt::Minimize& minimize) const {
    const Value loss = machine.eval(minimize.loss, frame);
    std::vector<WeightId> weights;
    for (const GivenWeight& weight : machine.weights_of(machine.eval(minimize.optimizer, frame)))
      weights.push_back(weight.id);
    machine.plan_.backwards.push_back(count_backward(machine.plan_.tape, loss.node, weights));
    return std::nullopt;
  }
  Result operator()(const stmt::Backward& backward) const {
    const Value loss = machine.eval(backward.loss, frame);
    std::vector<WeightId> weights;
    for (const Plan::Optimizer& optimizer : machine.plan_.optimizers)
      weights.insert(weights.end(), optimizer.weights.begin(), optimizer.weights.end());
    Backward pass = count_backward(machine.plan_.tape, loss.node, weights);
    pass.is_used_up = false;
    machine.plan_.backwards.push_back(std::move(pass));
    return std::nullopt;
  }
  Result operator()(const stmt::If& branch) const {
    const Value condition = machine.eval(branch.condition, frame);
    const bool is_known = condition.kind == Value::Kind::Bool;
    if (!is_known && machine.is_exact()) return Value{};
    if (!is_known) machine.unknown("which branch is taken; the first is counted", statement.span);
    return machine.run(!is_known || condition.whole != 0 ? branch.then_body : branch.else_body, frame);
  }
  Result operator()(const stmt::For& loop) const {
    const Value from = machine.eval(loop.from, frame), to = machine.eval(loop.to, frame);
    const bool is_known = count_between(from, to).value_or(kMaxRounds + 1) <= kMaxRounds;
    if (!is_known && machine.is_exact()) return Value{};
    if (!is_known) {
      machine.unknown("how often the loop runs; one round is counted", statement.span);
      machine.assign(loop.variable, Value{}, frame);
      return machine.run(loop.body, frame);
    }
    for (int64_t i = from.whole; i < to.whole && machine.may_go_on(statement.span); ++i) {
      machine.assign_anew(loop.variable, Value::of_int(i), frame);
      if (auto result = machine.run(loop.body, frame)) return result;
    }
    return std::nullopt;
  }
  Result operator()(const stmt::While& loop) const {
    for (int64_t round = 0; round < kMaxRounds && machine.may_go_on(statement.span); ++round) {
      const Value condition = machine.eval(loop.condition, frame);
      if (condition.kind != Value::Kind::Bool) break;
      if (condition.whole == 0) return std::nullopt;
      if (auto result = machine.run(loop.body, frame)) return result;
    }
    if (machine.is_exact()) return Value{};
    machine.unknown("how often the loop runs; one round is counted", statement.span);
    return machine.run(loop.body, frame);
  }
  Result operator()(const stmt::NoGrad& inner) const { return machine.run(inner.body, frame); }
  Result operator()(const stmt::Every&) const { return std::nullopt; }  // Not a part of each step.

  // What counts by its operands alone.
  Result operator()(const stmt::SetMember&) const { return operands(); }
  Result operator()(const stmt::Log&) const { return operands(); }
  Result operator()(const stmt::Eval&) const { return operands(); }
  Result operator()(const stmt::Assert&) const { return operands(); }
  Result operator()(const stmt::Print&) const { return operands(); }
  Result operator()(const stmt::HookCall&) const { return operands(); }

  Result operands() const {
    check::for_each_child(statement, [&](check::ExprId operand) { machine.eval(operand, frame); });
    return std::nullopt;
  }
};

std::optional<Value> Machine::run(const check::Body& body, Frame& frame) {
  for (const check::Stmt& statement : body) {
    if (auto result = std::visit(StmtRunner{*this, statement, frame}, statement.node)) return result;
  }
  return std::nullopt;
}

}  // namespace ltr::elaborate
