#include "codegen/emit/cpp_ast.h"

namespace ltr::emit::cpp {
namespace {

Expr make(ExprKind kind, std::string text, std::vector<Expr> args) {
  Expr expr;
  expr.kind = kind;
  expr.text = std::move(text);
  expr.args = std::move(args);
  return expr;
}

Expr make_typed(ExprKind kind, Type type, std::vector<Expr> args) {
  Expr expr = make(kind, "", std::move(args));
  expr.type = std::move(type);
  return expr;
}

Stmt make_stmt(StmtKind kind) {
  Stmt stmt;
  stmt.kind = kind;
  return stmt;
}

}  // namespace

Expr name(std::string text) { return make(ExprKind::Name, std::move(text), {}); }

Expr integer(int64_t value) {
  Expr expr = make(ExprKind::Int, "", {});
  expr.whole = value;
  return expr;
}

Expr real(double value) {
  Expr expr = make(ExprKind::Real, "", {});
  expr.real = value;
  return expr;
}

Expr boolean(bool value) {
  Expr expr = make(ExprKind::Bool, "", {});
  expr.whole = value ? 1 : 0;
  return expr;
}

Expr string(std::string text) { return make(ExprKind::Str, std::move(text), {}); }

Expr call(Expr callee, std::vector<Expr> args) {
  args.insert(args.begin(), std::move(callee));
  return make(ExprKind::Call, "", std::move(args));
}

Expr dot(Expr base, std::string field) { return make(ExprKind::Dot, std::move(field), {std::move(base)}); }
Expr arrow(Expr base, std::string field) { return make(ExprKind::Arrow, std::move(field), {std::move(base)}); }
Expr unary(std::string op, Expr operand) { return make(ExprKind::Unary, std::move(op), {std::move(operand)}); }

Expr binary(std::string op, Expr left, Expr right) {
  return make(ExprKind::Binary, std::move(op), {std::move(left), std::move(right)});
}

Expr ternary(Expr condition, Expr first, Expr second) {
  return make(ExprKind::Ternary, "", {std::move(condition), std::move(first), std::move(second)});
}

Expr index(Expr base, Expr at) { return make(ExprKind::Index, "", {std::move(base), std::move(at)}); }
Expr braces(std::vector<Expr> args) { return make(ExprKind::Braces, "", std::move(args)); }
Expr braces(Type type, std::vector<Expr> args) {
  return make_typed(ExprKind::Braces, std::move(type), std::move(args));
}
Expr construct(Type type, std::vector<Expr> args) {
  return make_typed(ExprKind::Construct, std::move(type), std::move(args));
}
Expr cast(Type type, Expr value) { return make_typed(ExprKind::Cast, std::move(type), {std::move(value)}); }
Expr make_new(Type type, std::vector<Expr> args) { return make_typed(ExprKind::New, std::move(type), std::move(args)); }

Expr templated(std::string text, Type type) {
  Expr expr = make_typed(ExprKind::Template, std::move(type), {});
  expr.text = std::move(text);
  return expr;
}

Expr lambda(std::vector<Param> params, Type result, Body body, std::string captures) {
  Expr expr = make_typed(ExprKind::Lambda, std::move(result), {});
  expr.text = std::move(captures);
  expr.params = std::move(params);
  expr.body = std::move(body);
  return expr;
}

Stmt expression(Expr value) {
  Stmt stmt = make_stmt(StmtKind::Expr);
  stmt.value = std::move(value);
  return stmt;
}

Stmt variable(Type type, std::string name, Expr value) {
  Stmt stmt = declaration(std::move(type), std::move(name));
  stmt.value = std::move(value);
  stmt.has_value = true;
  return stmt;
}

Stmt declaration(Type type, std::string name) {
  Stmt stmt = make_stmt(StmtKind::Variable);
  stmt.type = std::move(type);
  stmt.name = std::move(name);
  stmt.has_value = false;
  return stmt;
}

Stmt object(Type type, std::string name, std::vector<Expr> args) {
  Stmt stmt = declaration(std::move(type), std::move(name));
  stmt.kind = StmtKind::Object;
  stmt.value = braces(std::move(args));
  return stmt;
}

Stmt assign(Expr target, Expr value) { return expression(binary("=", std::move(target), std::move(value))); }

Stmt give_back(Expr value) {
  Stmt stmt = make_stmt(StmtKind::Return);
  stmt.value = std::move(value);
  return stmt;
}

Stmt give_back() {
  Stmt stmt = make_stmt(StmtKind::Return);
  stmt.has_value = false;
  return stmt;
}

Stmt block(Body body) {
  Stmt stmt = make_stmt(StmtKind::Block);
  stmt.body = std::move(body);
  return stmt;
}

Stmt branch(Expr condition, Body then_body, Body else_body) {
  Stmt stmt = make_stmt(StmtKind::If);
  stmt.value = std::move(condition);
  stmt.body = std::move(then_body);
  stmt.other = std::move(else_body);
  return stmt;
}

}  // namespace ltr::emit::cpp
