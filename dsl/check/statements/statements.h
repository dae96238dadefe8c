#pragma once

// Bodies and their statements.

#include "dsl/ast/walk.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

/// Whether a statement of that kind stands in code.
template <class Kind>
struct Find {
  bool found = false;
  void operator()(const auto& node) {
    if (!found) ast::for_each_child(node, *this);
  }
  void operator()(const ast::Stmt& statement) {
    found = found || statement.get<Kind>() != nullptr;
    if (!found) ast::for_each_child(statement, *this);
  }
};

Body check_body(const ast::Body& body, Scope& scope);
/// As `check_body`, in a scope of its own.
Body check_nested(const ast::Body& body, Scope& scope);
/// The same of what is not always done.
Body check_branch(const ast::Body& body, Scope& scope);
/// `minimise(loss)`: a value alone that begins with the word of a statement, misspelt. False if it is none.
bool report_misspelt_word(const ast::Expr& value, Scope& scope);
/// What the function of this scope returns.
Stmt check_result(const ast::Expr& result, Span span, Scope& scope);
/// What `if` and `while` ask: a bool on the host.
Expr check_condition(const ast::Expr& expr, const char* word, Scope& scope);
Stmt check_for(const ast::Stmt& statement, const ast::For& loop, Scope& scope);
Stmt check_while(const ast::While& loop, Span span, Scope& scope);
/// Ints of a value that is another one in each round of a loop are no sizes that are known; nor is the length of a list.
void forget_sizes(Type& type, Context& cx);
Stmt check_assign(const ast::Stmt& statement, const ast::Assign& assign, Scope& scope);
Stmt check_unpack(const ast::Stmt& statement, const ast::Unpack& unpack, Scope& scope);
Stmt check_declare(const ast::Stmt& statement, const ast::Declare& declare, Scope& scope);
/// Takes a metric that is called, and not logged, for logged under its own name, so that a monitor of it is no second mistake.
void note_lost_log(const node::CallMetric& call, Scope& scope);
/// What `minimize` or `backward`, its `verb`, differentiates: one floating number on the device, an error after a report.
Expr check_loss(const ast::Expr& expr, const char* verb, Scope& scope);
Stmt check_minimize(const ast::Stmt& statement, const ast::Minimize& minimize, Scope& scope);
Stmt check_log(const ast::Stmt& statement, const ast::Log& log, Scope& scope);

}  // namespace ltr::check
