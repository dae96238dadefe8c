#include "dsl/check/walk.h"

#include <boost/pfr.hpp>
#include <set>
#include <type_traits>
#include <vector>

namespace ltr::check {

namespace {

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_leaf = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

/// Hands each `ExprId` in `part` to `visit`: in itself, in a list, or in the fields of a struct.
template <class T, class Visit>
void for_each_id(T& part, Visit& visit) {
  using Part = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Part, ExprId>) {
    visit(part);
  } else if constexpr (std::is_same_v<Part, Body> || is_leaf<Part>) {
    // A body is no operand.
  } else if constexpr (is_optional<Part>) {
    if (part) for_each_id(*part, visit);
  } else if constexpr (is_list<Part>) {
    for (auto& element : part) for_each_id(element, visit);
  } else {
    boost::pfr::for_each_field(part, [&](auto& field) { for_each_id(field, visit); });
  }
}

/// Hands each body among the fields of `node` to `visit`.
template <class T, class Visit>
void for_each_body_in(T& node, Visit& visit) {
  boost::pfr::for_each_field(node, [&](auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, Body>) visit(field);
  });
}

/// Whether two parts are equal but for the ids in them, and for where they are written.
template <class T>
bool is_like_part(const T& left, const T& right) {
  if constexpr (std::is_same_v<T, ExprId> || std::is_same_v<T, Body> || std::is_same_v<T, Span>) {
    return true;
  } else if constexpr (is_leaf<T>) {
    return left == right;
  } else if constexpr (is_optional<T>) {
    return left.has_value() == right.has_value() && (!left || is_like_part(*left, *right));
  } else if constexpr (is_list<T>) {
    if (left.size() != right.size()) return false;
    for (size_t i = 0; i < left.size(); ++i) {
      if (!is_like_part(left[i], right[i])) return false;
    }
    return true;
  } else {
    bool result = true;
    boost::pfr::for_each_field(left, [&](const auto& field, auto index) {
      result = result && is_like_part(field, boost::pfr::get<index>(right));
    });
    return result;
  }
}

}  // namespace

void for_each_child(const ExprView& expr, const std::function<void(ExprId)>& visit) {
  std::visit([&](const auto& node) { for_each_id(node, visit); }, expr.node);
}

void for_each_child(const Stmt& stmt, const std::function<void(ExprId)>& visit) {
  std::visit([&](const auto& node) { for_each_id(node, visit); }, stmt.node);
}

void for_each_body(const ExprView& expr, const std::function<void(const Body&)>& visit) {
  std::visit([&](const auto& node) { for_each_body_in(node, visit); }, expr.node);
}

void for_each_body(const Stmt& stmt, const std::function<void(const Body&)>& visit) {
  std::visit([&](const auto& node) { for_each_body_in(node, visit); }, stmt.node);
}

void for_each_body(Stmt& stmt, const std::function<void(Body&)>& visit) {
  std::visit([&](auto& node) { for_each_body_in(node, visit); }, stmt.node);
}

void for_each_reached(FnId fn, const Program& program, const std::function<void(const ExprView&)>& visit) {
  std::set<FnId> seen = {0};  // no function
  std::vector<FnId> to_visit = {fn};
  while (!to_visit.empty()) {
    const FnId at = to_visit.back();
    to_visit.pop_back();
    if (!seen.insert(at).second) continue;
    for_each_expr(program.fns[at].body, program, [&](const ExprView& expr) {
      visit(expr);
      if (const auto* call = expr.get<node::CallFn>()) to_visit.push_back(call->fn);
      if (const auto* call = expr.get<node::CallMethod>()) to_visit.push_back(call->fn);
      if (const auto* map = expr.get<node::MapStage>()) to_visit.push_back(map->fn);
    });
  }
}

bool any_child(const ExprView& expr, const std::function<bool(ExprId)>& test) {
  bool found = false;
  for_each_child(expr, [&](ExprId child) { found = found || test(child); });
  return found;
}

Expr with_children(Expr expr, const std::function<ExprId(ExprId)>& map) {
  const auto put = [&](ExprId& child) { child = map(child); };
  std::visit([&](auto& node) { for_each_id(node, put); }, expr.node);
  return expr;
}

bool builds_blocks(const ExprView& expr, const Program& program) {
  if (expr.is<node::Construct>()) return expr.type.kind == Kind::Block;
  const auto builds = [&](ExprId part) { return builds_blocks(program.exprs[part], program); };
  if (const auto* choice = expr.get<node::If>()) return builds(choice->then_value) || builds(choice->else_value);
  if (const auto* list = expr.get<node::Comprehension>()) return builds(list->element);
  if (const auto* function = expr.get<node::Function>()) return builds(function->value);
  const bool has_parts =
      expr.is<node::List>() || expr.is<node::Tuple>() || expr.is<node::Record>() || expr.is<node::Convert>();
  return has_parts && any_child(expr, builds);
}

bool takes_blocks(const ExprView& expr, const Program& program) {
  const auto takes = [&](ExprId part) { return takes_blocks(program.exprs[part], program); };
  if (expr.is<node::Construct>()) return false;
  if (const auto* choice = expr.get<node::If>()) return takes(choice->then_value) || takes(choice->else_value);
  if (const auto* list = expr.get<node::Comprehension>()) return takes(list->element);
  if (expr.is<node::List>() || expr.is<node::Tuple>() || expr.is<node::Record>() || expr.is<node::Convert>())
    return any_child(expr, takes);
  return expr.type.kind == Kind::Block || holds_layers(expr.type);
}

namespace {

void visit_expr(const ExprView& expr, const Program& program, const std::function<void(const ExprView&)>& visit) {
  visit(expr);
  for_each_child(expr, [&](ExprId child) { visit_expr(program.exprs[child], program, visit); });
  for_each_body(expr, [&](const Body& body) { for_each_expr(body, program, visit); });
}

}  // namespace

void for_each_expr(const Body& body, const Program& program, const std::function<void(const ExprView&)>& visit) {
  for (const Stmt& stmt : body) {
    for_each_child(stmt, [&](ExprId child) { visit_expr(program.exprs[child], program, visit); });
    for_each_body(stmt, [&](const Body& inner) { for_each_expr(inner, program, visit); });
  }
}

bool is_like(const ExprView& left, const ExprView& right) {
  if (left.node.index() != right.node.index()) return false;
  return std::visit(
      [&](const auto& node) { return is_like_part(node, std::get<std::remove_cvref_t<decltype(node)>>(right.node)); },
      left.node);
}

bool is_block_param(const ExprView& expr) {
  const auto* member = expr.get<node::Member>();
  return expr.type.kind == Kind::Function && member != nullptr && member->is_param;
}

}  // namespace ltr::check
