#include "dsl/elaborate/machine.h"

#include <algorithm>

#include "dsl/check/walk.h"

/// Objects, calls and statements.
namespace ltr::elaborate {

using check::Kind;
using check::MemberKind;
namespace stmt = check::stmt;

namespace {

constexpr int kMaxDepth = 200;

}  // namespace

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

Value Machine::add_weight(const check::Member& member, Value value, const Frame& frame) {
  if (value.kind == Value::Kind::None) return value;
  if (value.weight) return value;  // Tied: the value is a weight that exists.
  const check::Type& type = member.type.kind == Kind::Option ? member.type.fields[0].type : member.type;
  Weight weight;
  weight.element = type.element;
  weight.dims = dims_of(type, frame);
  weight.is_buffer = member.kind == MemberKind::Buffer;
  Value result;
  result.kind = Value::Kind::Tensor;
  result.element = weight.element;
  result.dims = weight.dims;
  result.weight = WeightId(plan_.tree.weights.size());
  plan_.tree.weights.push_back(std::move(weight));
  return result;
}

Value Machine::construct(const check::Type& type, std::vector<Value> args) {
  const ObjectId id = ObjectId(plan_.tree.objects.size());
  plan_.tree.objects.emplace_back();
  plan_.tree.objects[id].kind = type.kind;
  plan_.tree.objects[id].decl = type.decl;
  const check::Object& decl = decl_of(plan_.tree.objects[id]);
  plan_.tree.objects[id].type = decl.name;
  Frame frame;
  frame.locals = &decl.locals;
  frame.self = id;
  for (size_t i = 0; i < decl.params.size() && i < args.size(); ++i) {
    assign(check::LocalId(i), args[i], frame);
    plan_.tree.objects[id].params[decl.params[i].name] = args[i];
  }
  plan_.tree.objects[id].sizes = frame.sizes;
  const bool was_tracing = is_tracing;
  is_tracing = false;
  for (const check::Member& member : decl.members) {
    Value value;
    if (type.kind == Kind::Data) {
      // Streams are no sizes; what is asked of them is asked where it is used.
    } else {
      value = eval(member.value, frame);
      if (member.kind == MemberKind::Weight || member.kind == MemberKind::Buffer)
        value = add_weight(member, std::move(value), frame);
    }
    bind(member.type, value, plan_.tree.objects[id].sizes);
    plan_.tree.objects[id].members.emplace_back(member.name, std::move(value));
  }
  is_tracing = was_tracing;
  Value result;
  result.kind = Value::Kind::Object;
  result.whole = id;
  return result;
}

void Machine::name_weights(ObjectId object, const std::string& path) {
  const auto visit = [&](const auto& self, const Value& value, const std::string& at) -> void {
    if (value.kind == Value::Kind::Object) {
      Object& inner = plan_.tree.objects[size_t(value.whole)];
      if (inner.kind != Kind::Block || !inner.path.empty()) return;  // One place names it.
      name_weights(ObjectId(value.whole), at);
    } else if (value.weight) {
      Weight& weight = plan_.tree.weights[*value.weight];
      if (weight.path.empty()) weight.path = at;
    } else if (value.kind == Value::Kind::List || value.kind == Value::Kind::Record) {
      const bool is_record = value.kind == Value::Kind::Record;
      for (size_t i = 0; i < value.items.size(); ++i)
        self(self, value.items[i], at + "." + (is_record ? value.names[i] : std::to_string(i)));
    }
  };
  plan_.tree.objects[object].path = path;
  // A block given as a parameter is a member.
  for (const auto& [name, value] : plan_.tree.objects[object].members)
    visit(visit, value, path.empty() ? name : path + "." + name);
  for (const auto& [name, value] : plan_.tree.objects[object].params) {
    if (value.kind == Value::Kind::Object) visit(visit, value, path.empty() ? name : path + "." + name);
  }
}

std::vector<WeightId> Machine::weights_of(const Value& value) const {
  std::vector<WeightId> result;
  const auto add = [&](const std::vector<WeightId>& ids) {
    for (const WeightId id : ids) {
      if (std::find(result.begin(), result.end(), id) == result.end()) result.push_back(id);
    }
  };
  if (value.kind == Value::Kind::Weights) add(value.weights);
  if (value.weight && !plan_.tree.weights[*value.weight].is_buffer) add({*value.weight});
  for (const Value& item : value.items) add(weights_of(item));
  if (value.kind == Value::Kind::Object) {
    const Object& object = plan_.tree.objects[size_t(value.whole)];
    for (const auto& [name, member] : object.members) {
      if (member.kind == Value::Kind::Call) {
        if (object.kind != Kind::Model) add(weights_of(member));
      } else {
        add(weights_of(member));
      }
    }
    for (const auto& [name, param] : object.params) {
      if (param.kind == Value::Kind::Object) add(weights_of(param));
    }
  }
  return result;
}

Value Machine::call(uint32_t fn, std::optional<ObjectId> self, std::vector<Value> args) {
  const check::Fn& code = program_.fns[fn];
  Frame frame;
  frame.locals = &code.locals;
  frame.self = self;
  if (++depth_ > kMaxDepth) {
    --depth_;
    return {};
  }
  for (size_t i = 0; i < args.size() && i < code.param_count; ++i) assign(check::LocalId(i), std::move(args[i]), frame);
  for (const check::Binder& binder : code.binders) {
    const check::Type& type = code.locals[binder.local].type;
    if (type.value) {
      if (const Size known = size_of(*type.value, frame)) frame.values[binder.local] = Value::of_int(*known);
    }
  }
  std::optional<Value> result = run(code.body, frame);
  --depth_;
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
    const std::vector<WeightId> weights = machine.weights_of(machine.eval(minimize.optimizer, frame));
    machine.plan_.backwards.push_back(count_backward(machine.plan_.tape, loss.node, weights));
    return std::nullopt;
  }
  Result operator()(const stmt::If& branch) const {
    const Value condition = machine.eval(branch.condition, frame);
    const bool is_known = condition.kind == Value::Kind::Bool;
    if (!is_known) machine.unknown("which branch is taken; the first is counted", statement.span);
    return machine.run(!is_known || condition.whole != 0 ? branch.then_body : branch.else_body, frame);
  }
  Result operator()(const stmt::For& loop) const {
    const Value from = machine.eval(loop.from, frame), to = machine.eval(loop.to, frame);
    const bool is_known =
        from.kind == Value::Kind::Int && to.kind == Value::Kind::Int && to.whole - from.whole <= kMaxRounds;
    if (!is_known) {
      machine.unknown("how often the loop runs; one round is counted", statement.span);
      machine.assign(loop.variable, Value{}, frame);
      return machine.run(loop.body, frame);
    }
    for (int64_t i = from.whole; i < to.whole; ++i) {
      machine.assign_anew(loop.variable, Value::of_int(i), frame);
      if (auto result = machine.run(loop.body, frame)) return result;
    }
    return std::nullopt;
  }
  Result operator()(const stmt::While& loop) const {
    machine.unknown("how often the loop runs; one round is counted", statement.span);
    return machine.run(loop.body, frame);
  }
  Result operator()(const stmt::NoGrad& inner) const { return machine.run(inner.body, frame); }
  Result operator()(const stmt::Every&) const { return std::nullopt; }  // Not a part of each step.

  // What counts by its operands alone.
  Result operator()(const stmt::SetMember&) const { return operands(); }
  Result operator()(const stmt::Backward&) const { return operands(); }
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
