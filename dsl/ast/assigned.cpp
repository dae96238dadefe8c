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
    for (const Assignment& one : assignments_of(stmt)) names.insert(one.name->text);
    for_each_child(stmt, *this);
  }
};

}  // namespace

std::vector<Assignment> assignments_of(const Stmt& stmt) {
  std::vector<Assignment> found;
  if (const auto* assign = stmt.get<Assign>()) {
    const bool is_whole = assign->op == AssignOp::Set && assign->target.get<NameRef>() != nullptr;
    if (const Name* name = variable_of(assign->target)) found.push_back({name, &assign->value, is_whole});
  } else if (const auto* unpack = stmt.get<Unpack>()) {
    for (size_t i = 0; i < unpack->names.size(); ++i)
      found.push_back({&unpack->names[i], &unpack->value, true, i, &unpack->names});
  } else if (const auto* declare = stmt.get<Declare>()) {
    found.push_back({&declare->name, &declare->value});
  }
  return found;
}

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
