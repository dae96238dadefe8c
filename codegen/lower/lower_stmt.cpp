#include <algorithm>
#include <set>

#include "codegen/lower/body.h"
#include "dsl/check/experiment/repeated_steps.h"
#include "dsl/check/walk.h"

namespace ltr::lower {

using check::Body;
using check::LocalId;
using check::Stmt;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;
namespace node = check::node;
namespace stmt = check::stmt;

void BodyLowerer::add_assigned(check::ExprId id, std::set<LocalId>& locals) const {
  // The body of a `scan` stands in an expression.
  check::for_each_body(at(id), [&](const Body& inner) { add_assigned(inner, locals); });
  check::for_each_child(at(id), [&](check::ExprId child) { add_assigned(child, locals); });
}

void BodyLowerer::add_assigned(const Body& body, std::set<LocalId>& locals) const {
  for (const Stmt& statement : body) {
    if (const auto* let = statement.get<stmt::Let>()) locals.insert(let->local);
    if (const auto* unpack = statement.get<stmt::Unpack>()) locals.insert(unpack->locals.begin(), unpack->locals.end());
    check::for_each_body(statement, [&](const Body& inner) { add_assigned(inner, locals); });
    check::for_each_child(statement, [&](check::ExprId child) { add_assigned(child, locals); });
  }
}

void BodyLowerer::body(std::span<const Stmt> body) {
  for (const Stmt& one : body) {
    if (b.is_terminated()) return;  // What stands behind a `return` never runs.
    b.loc = shared_.loc(one.span);
    std::visit([&](const auto& node) { lower(node); }, one.node);
  }
}

void BodyLowerer::finish() {
  if (!b.is_terminated()) b.effect(OpKind::Return, {});
}

void BodyLowerer::let(LocalId local, ValueId value) {
  env[local] = value;
  ir::Value& named = b.function().values[value];
  if (fn != nullptr && local < fn->locals.size() && named.name.empty() && !named.constant)
    named.name = fn->locals[local].name;
}

Type BodyLowerer::local_type(LocalId local, ValueId value) const {
  return fn != nullptr && local < fn->locals.size() ? shared_.type(fn->locals[local].type) : b.type(value);
}

void BodyLowerer::lower(const stmt::Error&) { unknown(Type::of(TypeKind::Void)); }

// The type that a local is declared with may hold its value in another form.
void BodyLowerer::lower(const stmt::Let& let) {
  const ValueId value = expr(let.value);
  this->let(let.local, fit(value, local_type(let.local, value)));
}

void BodyLowerer::lower(const stmt::Unpack& unpack) {
  const ValueId value = expr(unpack.value);
  const check::Type& whole = at(unpack.value).type;
  for (size_t i = 0; i < unpack.locals.size(); ++i) {
    const ValueId part =
        whole.is_error() ? value : get_element(value, b.int_const(int64_t(i)), shared_.type(whole.fields[i].type));
    let(unpack.locals[i], part);
  }
}

void BodyLowerer::lower(const stmt::SetMember& set) {
  b.effect(OpKind::WriteBuffer, {*self, new_value(set)}, set.name);
}

void BodyLowerer::lower(const stmt::Return& result) {
  if (!result.value) return b.effect(OpKind::Return, {});
  const ValueId value = expr(*result.value);
  // A C++ function that could not be read gives nothing.
  if (at(*result.value).type.kind == check::Kind::Void) return b.effect(OpKind::Return, {});
  b.effect(OpKind::Return, {fit(value, b.function().result)});
}

// `scan` lowers what its body ends with; check lets it stand nowhere else.
void BodyLowerer::lower(const stmt::Yield&) {
  throw ir::InternalError("a `yield` that ends no scan reached lower", b.loc);
}

void BodyLowerer::lower(const stmt::Assert& assertion) {
  ValueId condition = expr(assertion.condition);
  if (b.type(condition).is_tensor()) condition = b.op(OpKind::Item, Type::of(TypeKind::Bool), {condition});
  std::vector<ValueId> operands = {condition};
  if (assertion.message) operands.push_back(expr(*assertion.message));
  b.effect(OpKind::Assert, std::move(operands), "", {{"text", assertion.text}});
}

void BodyLowerer::lower(const stmt::Print& print) {
  std::vector<ValueId> texts;
  for (const check::ExprId value : print.values) texts.push_back(text(expr(value), at(value).type));
  b.effect(OpKind::Print, std::move(texts));
}

void BodyLowerer::lower(const stmt::Minimize& minimize) {
  const ValueId loss = expr(minimize.loss);
  std::vector<ir::Attr> attributes = {{"last", int64_t(minimize.is_last)}};
  if (check::repeats_step(at(minimize.optimizer), shared_.program)) attributes.push_back({"repeats", int64_t(1)});
  b.effect(OpKind::Minimize, {loss, expr(minimize.optimizer)}, "", std::move(attributes));
  note_written({minimize.loss, minimize.optimizer});
}

void BodyLowerer::lower(const stmt::Backward& backward) {
  b.effect(OpKind::Backward, {expr(backward.loss)});
  note_written({backward.loss});
}

void BodyLowerer::lower(const stmt::Log& log) {
  const check::LogEntry& entry = shared_.program.logs[log.slot];
  b.effect(OpKind::LogValue, {expr(log.value)}, entry.name, {{"slot", int64_t(log.slot)}, {"kind", entry.kind}});
}

void BodyLowerer::lower(const stmt::Every& every) {
  const ValueId period = setting(at(every.period));
  const std::string& name = fn != nullptr ? fn->name : "";
  const auto is_end = int64_t(fn != nullptr && fn->role == check::FnRole::Hook && name.ends_with("_end"));
  const ValueId due = b.op(OpKind::Due, Type::of(TypeKind::Bool), {period}, "", {{"is_end", is_end}});
  branch(due, &every.body, nullptr);
}

void BodyLowerer::lower(const stmt::Eval& eval) { expr(eval.value); }

void BodyLowerer::lower(const stmt::HookCall& call) { expr(call.value); }

// A metric keeps what it has seen by `scores = cat([scores, more])`. A copy of all at each update would make an epoch
// quadratic, so it is appended.
ValueId BodyLowerer::new_value(const stmt::SetMember& set) {
  const check::ExprView& value = at(set.value);
  const auto* joined = value.get<node::Op>();
  const bool is_metric = owner != nullptr && owner->kind == TypeKind::Metric;
  if (!is_metric || joined == nullptr || joined->op != library::Id::Cat || joined->args.size() != 2) return expr(value);
  const auto* parts = at(joined->args[0]).get<node::List>();
  const auto* dim = at(joined->args[1]).get<node::IntConst>();
  if (parts == nullptr || parts->elements.size() != 2 || dim == nullptr || dim->value != 0) return expr(value);
  const auto* first = at(parts->elements[0]).get<node::Member>();
  if (first == nullptr || first->name != set.name || !at(first->object).is<node::Self>()) return expr(value);
  const ValueId old = expr(parts->elements[0]);
  return b.call(library::Id::Append, shared_.type(value.type), {old, expr(parts->elements[1])});
}

void BodyLowerer::lower(const stmt::If& branch) {
  const ValueId condition = expr(branch.condition);
  this->branch(condition, &branch.then_body, branch.else_body.empty() ? nullptr : &branch.else_body);
}

// A local that a branch assigns and that has a value on every path that goes on becomes a result.
void BodyLowerer::branch(ValueId condition, const Body* then_body, const Body* else_body) {
  ir::Op op;
  op.kind = OpKind::If;
  op.operands = {condition};
  op.loc = b.loc;
  op.regions.resize(2);
  const Body* bodies[] = {then_body, else_body};
  std::map<LocalId, ValueId> ends[2];
  bool leaves[2] = {false, false};
  const auto before = env;
  std::set<LocalId> assigned;
  for (int side = 0; side < 2; ++side) {
    env = before;
    b.open(op.regions[size_t(side)]);
    if (bodies[side] != nullptr) {
      body(*bodies[side]);
      add_assigned(*bodies[side], assigned);
    }
    leaves[side] = b.is_terminated();
    b.close();
    ends[side] = env;
  }
  env = before;
  std::vector<ValueId> yields[2];
  for (const LocalId local : assigned) {
    bool everywhere = !(leaves[0] && leaves[1]);
    for (int side = 0; side < 2; ++side) everywhere = everywhere && (leaves[side] || ends[side].count(local) != 0);
    if (!everywhere) continue;
    for (int side = 0; side < 2; ++side) {
      if (!leaves[side]) yields[side].push_back(ends[side].at(local));
    }
    const ValueId shown = ends[leaves[0] ? 1 : 0].at(local);
    const ValueId result = b.new_value(local_type(local, shown));
    op.results.push_back(result);
    let(local, result);
  }
  for (int side = 0; side < 2; ++side) {
    if (leaves[side]) continue;
    b.open(op.regions[size_t(side)]);
    b.effect(OpKind::Yield, yields[side]);
    b.close();
  }
  b.append(std::move(op));
}

std::vector<LocalId> BodyLowerer::carried(const Body& body) const {
  std::set<LocalId> assigned;
  add_assigned(body, assigned);
  std::vector<LocalId> carried;
  std::copy_if(assigned.begin(), assigned.end(), std::back_inserter(carried),
               [&](LocalId local) { return env.count(local) != 0; });
  return carried;
}

void BodyLowerer::lower(const stmt::For& loop) {
  ir::Op op;
  op.kind = OpKind::For;
  op.loc = b.loc;
  const ValueId from = expr(loop.from);
  op.operands = {from, expr(loop.to)};
  const std::vector<LocalId> locals = carried(loop.body);
  for (const LocalId local : locals) op.operands.push_back(env.at(local));
  const auto before = env;
  ir::Region region;
  b.open(region);
  let(loop.variable, b.region_param(Type::of(TypeKind::Int)));
  for (const LocalId local : locals) let(local, b.region_param(local_type(local, before.at(local))));
  body(loop.body);
  if (!b.is_terminated()) {
    std::vector<ValueId> yields;
    for (const LocalId local : locals) yields.push_back(env.at(local));
    b.effect(OpKind::Yield, std::move(yields));
  }
  b.close();
  op.regions.push_back(std::move(region));
  env = before;
  for (const LocalId local : locals) {
    op.results.push_back(b.new_value(local_type(local, before.at(local))));
    let(local, op.results.back());
  }
  b.append(std::move(op));
}

void BodyLowerer::lower(const stmt::While& loop) {
  ir::Op op;
  op.kind = OpKind::While;
  op.loc = b.loc;
  const std::vector<LocalId> locals = carried(loop.body);
  for (const LocalId local : locals) op.operands.push_back(env.at(local));
  const auto before = env;
  ir::Region test;
  b.open(test);
  for (const LocalId local : locals) let(local, b.region_param(local_type(local, before.at(local))));
  b.effect(OpKind::Yield, {expr(loop.condition)});
  b.close();
  env = before;
  ir::Region round;
  b.open(round);
  for (const LocalId local : locals) let(local, b.region_param(local_type(local, before.at(local))));
  body(loop.body);
  if (!b.is_terminated()) {
    std::vector<ValueId> yields;
    for (const LocalId local : locals) yields.push_back(env.at(local));
    b.effect(OpKind::Yield, std::move(yields));
  }
  b.close();
  op.regions.push_back(std::move(test));
  op.regions.push_back(std::move(round));
  env = before;
  for (const LocalId local : locals) {
    op.results.push_back(b.new_value(local_type(local, before.at(local))));
    let(local, op.results.back());
  }
  b.append(std::move(op));
}

// The body is no branch: every local that it assigns is known afterwards.
void BodyLowerer::lower(const stmt::NoGrad& inner) {
  ir::Op op;
  op.kind = OpKind::NoGrad;
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  body(inner.body);
  std::vector<ValueId> yields;
  if (!b.is_terminated()) {
    std::set<LocalId> assigned;
    add_assigned(inner.body, assigned);
    for (const LocalId local : assigned) {
      const auto known = env.find(local);
      if (known == env.end()) continue;
      yields.push_back(known->second);
      op.results.push_back(b.new_value(local_type(local, known->second)));
      known->second = op.results.back();
      let(local, op.results.back());
    }
    b.effect(OpKind::Yield, yields);
  }
  b.close();
  op.regions.push_back(std::move(region));
  b.append(std::move(op));
}

}  // namespace ltr::lower
