// `where` of a function, as what its callers have to keep.

#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// `one_for_each(channels, x, 1)`, begun in `requirement`.
std::optional<Requirement> axis_rule(const ast::Call& call, Requirement requirement, Scope& scope) {
  const auto* param = call.arguments[1].value->get<ast::NameRef>();
  const auto* axis = call.arguments[2].value->get<ast::IntLiteral>();
  const auto count = check_dim(*call.arguments[0].value, scope);
  if (param == nullptr || axis == nullptr || !count) return std::nullopt;
  requirement.kind = Requirement::Kind::OneForEach;
  requirement.param = param->name.text;
  requirement.left = *count;
  requirement.axis = int64_t(axis->value);
  requirement.text = scope.cx.source_text(call.arguments[0].value->span);
  return requirement;
}

/// `indexes(ids, count)`, begun in `requirement`.
std::optional<Requirement> table_rule(const ast::Call& call, Requirement requirement, Scope& scope) {
  const auto* param = call.arguments[0].value->get<ast::NameRef>();
  const auto count = check_dim(*call.arguments[1].value, scope);
  if (param == nullptr || !count) return std::nullopt;
  requirement.kind = Requirement::Kind::Indexes;
  requirement.param = param->name.text;
  requirement.left = *count;
  return requirement;
}

/// `broadcasts(mask, B, heads, S, S)`, which only the library says, of a tensor that is given.
std::optional<Requirement> tensor_rule(const ast::Expr& where, Scope& scope) {
  const auto* call = where.get<ast::Call>();
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (callee == nullptr || !scope.cx.graph.modules[scope.module].is_library) return std::nullopt;
  Requirement requirement;
  requirement.text = scope.cx.source_text(where.span);
  requirement.origin = where.span;
  requirement.is_where = true;
  if (callee->name.text == "one_for_each" && call->arguments.size() == 3)
    return axis_rule(*call, std::move(requirement), scope);
  if (callee->name.text == "indexes" && call->arguments.size() == 2)
    return table_rule(*call, std::move(requirement), scope);
  if (callee->name.text != "broadcasts" || call->arguments.empty()) return std::nullopt;
  const auto* param = call->arguments[0].value->get<ast::NameRef>();
  if (param == nullptr) return std::nullopt;
  requirement.kind = Requirement::Kind::Broadcasts;
  requirement.param = param->name.text;
  for (size_t i = 1; i < call->arguments.size(); ++i) {
    auto size = check_dim(*call->arguments[i].value, scope);
    if (!size) return std::nullopt;
    requirement.onto.push_back(std::move(*size));
  }
  return requirement;
}

}  // namespace

void read_where(const ast::Expr& where, Scope& scope, std::vector<Requirement>& requirements) {
  if (const auto* paren = where.get<ast::Paren>()) return read_where(*paren->inner, scope, requirements);
  const auto* binary = where.get<ast::Binary>();
  if (binary != nullptr && binary->op == ast::BinaryOp::And) {
    read_where(*binary->left, scope, requirements);
    read_where(*binary->right, scope, requirements);
    return;
  }
  if (auto rule = tensor_rule(where, scope)) {
    requirements.push_back(std::move(*rule));
    return;
  }
  if (auto of_values = value_requirement(where, scope)) {
    requirements.push_back(std::move(*of_values));
    return;
  }
  if (binary == nullptr) return;
  Requirement requirement;
  requirement.text = scope.cx.source_text(where.span);
  requirement.origin = where.span;
  requirement.is_where = true;
  const auto* remainder = binary->left->get<ast::Binary>();
  if (binary->op == ast::BinaryOp::Equal && remainder != nullptr && remainder->op == ast::BinaryOp::Remainder) {
    const auto* zero = binary->right->get<ast::IntLiteral>();
    if (zero != nullptr && zero->value == 0) {
      const auto left = check_dim(*remainder->left, scope);
      const auto right = check_dim(*remainder->right, scope);
      if (!left || !right) return;
      requirement.kind = Requirement::Kind::Divisible;
      requirement.left = *left;
      requirement.right = *right;
      requirements.push_back(std::move(requirement));
      return;
    }
  }
  const auto left = check_dim(*binary->left, scope);
  const auto right = check_dim(*binary->right, scope);
  if (!left || !right) return;
  requirement.left = *left;
  requirement.right = *right;
  switch (binary->op) {
    case ast::BinaryOp::Equal: requirement.kind = Requirement::Kind::Equal; break;
    case ast::BinaryOp::LessEqual: requirement.kind = Requirement::Kind::AtMost; break;
    case ast::BinaryOp::Less: requirement.kind = Requirement::Kind::Less; break;
    case ast::BinaryOp::GreaterEqual:
    case ast::BinaryOp::Greater:
      requirement.kind = binary->op == ast::BinaryOp::Greater ? Requirement::Kind::Less : Requirement::Kind::AtMost;
      std::swap(requirement.left, requirement.right);
      break;
    default: scope.cx.report(diag::wrong_type(where.span, "a `where` of a function compares sizes")); return;
  }
  requirements.push_back(std::move(requirement));
}

}  // namespace ltr::check
