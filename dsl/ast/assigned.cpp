#include "dsl/ast/assigned.h"

#include "dsl/ast/walk.h"

namespace ltr::ast {

namespace {

/// The variable behind `x = …`, `r.a = …`, `l[i] = …`.
const Name* variable_of(const Expr& target) {
  if (const auto* name = target.get<NameRef>()) return &name->name;
  if (const auto* field = target.get<Field>()) return variable_of(*field->base);
  if (const auto* index = target.get<Index>()) return variable_of(*index->base);
  return nullptr;
}

struct FindAssigned {
  std::set<std::string> names;

  void operator()(const auto& node) { for_each_child(node, *this); }
  void operator()(const Stmt& stmt) {
    if (const auto* assign = stmt.get<Assign>()) {
      if (const Name* name = variable_of(assign->target)) names.insert(name->text);
    } else if (const auto* unpack = stmt.get<Unpack>()) {
      for (const Name& name : unpack->names) names.insert(name.text);
    } else if (const auto* declare = stmt.get<Declare>()) {
      names.insert(declare->name.text);
    }
    for_each_child(stmt, *this);
  }
};

}  // namespace

std::set<std::string> assigned_names(const Body& body) {
  FindAssigned assigned;
  for (const Stmt& statement : body) assigned(statement);
  return std::move(assigned.names);
}

std::set<std::string> assigned_inside(const Fn& fn) {
  FindAssigned assigned;
  for (const Stmt& statement : fn.body) for_each_child(statement, assigned);
  if (fn.value) assigned(*fn.value);
  return std::move(assigned.names);
}

}  // namespace ltr::ast
