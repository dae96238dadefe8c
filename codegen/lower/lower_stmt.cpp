#include <algorithm>
#include <set>

#include "codegen/lower/body.h"

namespace ltr::lower {

using check::Body;
using check::LocalId;
using check::Stmt;
using check::StmtKind;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

namespace {

void add_assigned(const Body& body, std::set<LocalId>& locals);

/// The body of a `scan` stands in an expression.
void add_assigned(const check::Expr& expr, std::set<LocalId>& locals) {
  add_assigned(expr.body, locals);
  for (const check::Expr& arg : expr.args) add_assigned(arg, locals);
}

void add_assigned(const Body& body, std::set<LocalId>& locals) {
  for (const Stmt& stmt : body) {
    if (stmt.kind == StmtKind::Let) locals.insert(stmt.local);
    if (stmt.kind == StmtKind::Unpack) locals.insert(stmt.locals.begin(), stmt.locals.end());
    for (const Body& inner : stmt.bodies) add_assigned(inner, locals);
    for (const check::Expr& value : stmt.values) add_assigned(value, locals);
  }
}

/// `cat([member, more])` along the first axis.
bool appends_to(const std::string& member, const check::Expr& value) {
  if (value.op != library::Id::Cat || value.args.size() != 2) return false;
  const check::Expr& parts = value.args[0];
  if (parts.kind != check::ExprKind::List || parts.args.size() != 2) return false;
  const check::Expr& first = parts.args[0];
  const check::Expr& dim = value.args[1];
  return first.kind == check::ExprKind::Member && first.name == member && first.args[0].kind == check::ExprKind::Self &&
         dim.kind == check::ExprKind::IntConst && dim.whole == 0;
}

}  // namespace

void BodyLowerer::body(const Body& body) {
  for (const Stmt& one : body) {
    if (b.is_terminated()) return;  // What stands behind a `return` never runs.
    stmt(one);
  }
}

void BodyLowerer::finish() {
  if (!b.is_terminated()) b.effect(OpKind::Return, {});
}

void BodyLowerer::let(LocalId local, ValueId value) {
  env[local] = value;
  ir::Value& named = b.function().values[value];
  if (fn != nullptr && local < fn->locals.size() && named.name.empty() && !named.constant) named.name = fn->locals[local].name;
}

Type BodyLowerer::local_type(LocalId local, ValueId value) const {
  return fn != nullptr && local < fn->locals.size() ? shared_.type(fn->locals[local].type) : b.type(value);
}

void BodyLowerer::stmt(const Stmt& stmt) {
  b.loc = shared_.loc(stmt.span);
  switch (stmt.kind) {
    case StmtKind::Let: return let(stmt.local, expr(stmt.values[0]));
    case StmtKind::Unpack: {
      const ValueId value = expr(stmt.values[0]);
      if (stmt.values[0].type.is_error()) {
        for (const LocalId local : stmt.locals) let(local, value);
        return;
      }
      for (size_t i = 0; i < stmt.locals.size(); ++i) {
        const Type type = shared_.type(stmt.values[0].type.fields[i].type);
        let(stmt.locals[i], get_element(value, b.int_const(int64_t(i)), type));
      }
      return;
    }
    case StmtKind::SetMember: return b.effect(OpKind::WriteBuffer, {*self, new_value(stmt)}, stmt.name);
    case StmtKind::Return: {
      if (stmt.values.empty()) return b.effect(OpKind::Return, {});
      const ValueId value = expr(stmt.values[0]);
      // A C++ function that could not be read gives nothing.
      if (stmt.values[0].type.kind == check::Kind::Void) return b.effect(OpKind::Return, {});
      return b.effect(OpKind::Return, {fit(value, b.function().result)});
    }
    case StmtKind::Assert: {
      ValueId condition = expr(stmt.values[0]);
      if (b.type(condition).is_tensor()) condition = b.op(OpKind::Item, Type::of(TypeKind::Bool), {condition});
      std::vector<ValueId> operands = {condition};
      if (stmt.values.size() > 1) operands.push_back(expr(stmt.values[1]));
      return b.effect(OpKind::Assert, std::move(operands), "", {{"text", stmt.text}});
    }
    case StmtKind::Print: {
      std::vector<ValueId> texts;
      for (const check::Expr& value : stmt.values) texts.push_back(text(expr(value), value.type));
      return b.effect(OpKind::Print, std::move(texts));
    }
    case StmtKind::Minimize: {
      const ValueId loss = expr(stmt.values[0]);
      b.effect(OpKind::Minimize, {loss, expr(stmt.values[1])}, "", {{"last", int64_t(stmt.is_last)}});
      return b.written({stmt.values[0].span, stmt.values[1].span});
    }
    case StmtKind::Backward:
      b.effect(OpKind::Backward, exprs(stmt.values));
      return b.written({stmt.values[0].span});
    case StmtKind::Log: {
      const check::LogEntry& entry = shared_.program.logs[stmt.index];
      return b.effect(OpKind::LogValue, exprs(stmt.values), entry.name, {{"slot", int64_t(stmt.index)}, {"kind", entry.kind}});
    }
    case StmtKind::If: return if_stmt(stmt);
    case StmtKind::For: return for_stmt(stmt);
    case StmtKind::While: return while_stmt(stmt);
    case StmtKind::Every: {
      const ValueId period = setting(stmt.values[0]);
      const std::string& name = fn != nullptr ? fn->name : "";
      const auto is_end = int64_t(fn != nullptr && fn->role == check::FnRole::Hook && name.ends_with("_end"));
      const ValueId due = b.op(OpKind::Due, Type::of(TypeKind::Bool), {period}, "", {{"is_end", is_end}});
      return branch(due, &stmt.bodies[0], nullptr);
    }
    case StmtKind::NoGrad: return no_grad(stmt);
    case StmtKind::Expr:
    case StmtKind::HookCall:
      expr(stmt.values[0]);
      return;
    case StmtKind::Error:
      unknown(Type::of(TypeKind::Void));
      return;
    case StmtKind::Yield: break;
  }
  throw ir::InternalError("a statement that check does not give reached lower", b.loc);
}

// A metric keeps what it has seen by `scores = cat([scores, more])`. A copy of all at each update would make an epoch
// quadratic, so it is appended.
ValueId BodyLowerer::new_value(const Stmt& stmt) {
  const check::Expr& value = stmt.values[0];
  if (owner == nullptr || owner->kind != TypeKind::Metric || !appends_to(stmt.name, value)) return expr(value);
  const check::Expr& parts = value.args[0];
  return b.call(library::Id::Append, shared_.type(value.type), {expr(parts.args[0]), expr(parts.args[1])});
}

void BodyLowerer::if_stmt(const Stmt& stmt) {
  const ValueId condition = expr(stmt.values[0]);
  const bool has_else = stmt.bodies.size() > 1 && !stmt.bodies[1].empty();
  branch(condition, &stmt.bodies[0], has_else ? &stmt.bodies[1] : nullptr);
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

std::vector<LocalId> BodyLowerer::carried(const std::vector<const Body*>& bodies) const {
  std::set<LocalId> assigned;
  for (const Body* body : bodies) add_assigned(*body, assigned);
  std::vector<LocalId> carried;
  std::copy_if(assigned.begin(), assigned.end(), std::back_inserter(carried), [&](LocalId local) { return env.count(local) != 0; });
  return carried;
}

void BodyLowerer::for_stmt(const Stmt& stmt) {
  ir::Op op;
  op.kind = OpKind::For;
  op.loc = b.loc;
  op.operands = {expr(stmt.values[0]), expr(stmt.values[1])};
  const std::vector<LocalId> locals = carried({&stmt.bodies[0]});
  for (const LocalId local : locals) op.operands.push_back(env.at(local));
  const auto before = env;
  ir::Region region;
  b.open(region);
  env[stmt.local] = b.region_param(Type::of(TypeKind::Int));
  let(stmt.local, env[stmt.local]);
  for (const LocalId local : locals) let(local, b.region_param(local_type(local, before.at(local))));
  body(stmt.bodies[0]);
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

void BodyLowerer::while_stmt(const Stmt& stmt) {
  ir::Op op;
  op.kind = OpKind::While;
  op.loc = b.loc;
  const std::vector<LocalId> locals = carried({&stmt.bodies[0]});
  for (const LocalId local : locals) op.operands.push_back(env.at(local));
  const auto before = env;
  ir::Region test;
  b.open(test);
  for (const LocalId local : locals) let(local, b.region_param(local_type(local, before.at(local))));
  b.effect(OpKind::Yield, {expr(stmt.values[0])});
  b.close();
  env = before;
  ir::Region loop;
  b.open(loop);
  for (const LocalId local : locals) let(local, b.region_param(local_type(local, before.at(local))));
  body(stmt.bodies[0]);
  if (!b.is_terminated()) {
    std::vector<ValueId> yields;
    for (const LocalId local : locals) yields.push_back(env.at(local));
    b.effect(OpKind::Yield, std::move(yields));
  }
  b.close();
  op.regions.push_back(std::move(test));
  op.regions.push_back(std::move(loop));
  env = before;
  for (const LocalId local : locals) {
    op.results.push_back(b.new_value(local_type(local, before.at(local))));
    let(local, op.results.back());
  }
  b.append(std::move(op));
}

// The body is no branch: every local that it assigns is known afterwards.
void BodyLowerer::no_grad(const Stmt& stmt) {
  ir::Op op;
  op.kind = OpKind::NoGrad;
  op.loc = b.loc;
  ir::Region region;
  b.open(region);
  body(stmt.bodies[0]);
  std::vector<ValueId> yields;
  if (!b.is_terminated()) {
    std::set<LocalId> assigned;
    add_assigned(stmt.bodies[0], assigned);
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
