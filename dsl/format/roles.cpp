#include "dsl/format/roles.h"

#include "dsl/ast/walk.h"

namespace ltr::format {

namespace {

class RoleCollector {
 public:
  explicit RoleCollector(Roles& roles) : roles_(roles) {}

  void operator()(const ast::Expr& expr) {
    const uint32_t begin = expr.span.begin;
    const bool is_grouping = expr.get<ast::Paren>() != nullptr || expr.get<ast::Tuple>() != nullptr ||
                             expr.get<ast::Record>() != nullptr || expr.get<ast::List>() != nullptr ||
                             expr.get<ast::Comprehension>() != nullptr;
    if (is_grouping) roles_.grouping.insert(begin);
    if (const auto* unary = expr.get<ast::Unary>(); unary && unary->op == ast::UnaryOp::Negate)
      roles_.unary.insert(begin);
    if (const auto* scan = expr.get<ast::Scan>()) {
      for (const ast::ScanCarry& carry : scan->carried) continued(carry.name.span);
    }
    ast::for_each_child(expr, *this);
  }
  void operator()(const ast::TypeExpr& type) {
    if (type.get<ast::TupleType>() != nullptr) roles_.grouping.insert(type.span.begin);
    if (type.get<ast::RecordType>() != nullptr) roles_.record_type.insert(type.span.begin);
    if (type.get<ast::BlockType>() != nullptr) roles_.block_type.insert(type.span.begin);
    ast::for_each_child(type, *this);
  }
  void operator()(const ast::Stmt& stmt) {
    if (const auto* unpack = stmt.get<ast::Unpack>()) {
      for (const ast::Name& name : unpack->names) continued(name.span);
    } else if (const auto* print = stmt.get<ast::Print>()) {
      for (const ast::Expr& value : print->values) continued(value.span);
    } else if (const auto* assertion = stmt.get<ast::Assert>(); assertion && assertion->message) {
      continued(assertion->message->span);
    }
    ast::for_each_child(stmt, *this);
  }
  void operator()(const ast::Item& item) { ast::for_each_child(item, *this); }
  void operator()(const ast::Decl& decl) {
    if (const auto* topology = decl.get<ast::Topology>()) {
      for (const ast::Shard& shard : topology->shards) {
        for (const ast::Name& axis : shard.axes) continued(axis.span);
      }
    } else if (const auto* experiment = decl.get<ast::Experiment>()) {
      for (const ast::Setting& set : experiment->sets) continued(set.name.span);
    }
    ast::for_each_child(decl, *this);
  }

 private:
  /// Asked only of what stands behind a comma, so the first of a list may be in the set too.
  void continued(ast::Span span) { roles_.continued.insert(span.begin); }

  Roles& roles_;
};

}  // namespace

Roles find_roles(const ast::Module& module) {
  Roles roles;
  RoleCollector collect(roles);
  ast::for_each_child(module, collect);
  return roles;
}

}  // namespace ltr::format
