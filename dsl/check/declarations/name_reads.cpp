#include "dsl/check/declarations/name_reads.h"

#include <algorithm>
#include <set>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/library/library.h"

namespace ltr::check {

void Reads::operator()(const ast::Expr& expr) {
  if (const auto* ref = expr.get<ast::NameRef>()) {
    names.insert(ref->name.text);
    values.insert(ref->name.text);
  }
  const auto* call = expr.get<ast::Call>();
  if (const auto* called = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr) {
    names.insert(called->name.text);
    const bool moves = called->name.text == library::info(library::Id::EmaUpdate).name;
    for (const ast::Argument& argument : call->arguments) {
      const bool is_target = moves && &argument == call->arguments.data();
      const ast::Name* member = is_target ? whole_member(*argument.value) : nullptr;
      if (member != nullptr)
        followers.insert(member->text);
      else
        (*this)(*argument.value);
    }
    return;
  }
  if (const auto* field = expr.get<ast::Field>()) fields.insert(field->name.text);
  if (const auto* scan = expr.get<ast::Scan>()) {
    for (const ast::ScanCarry& carry : scan->carried) names.insert(carry.name.text);
  }
  ast::for_each_child(expr, *this);
}

void Reads::operator()(const ast::TypeExpr& type) {
  if (const auto* named = type.get<ast::NamedType>()) take_type(named->name.text);
  ast::for_each_child(type, *this);
}

void Reads::operator()(const ast::Stmt& stmt) {
  if (const auto* assign = stmt.get<ast::Assign>(); assign && assign->target.get<ast::NameRef>() != nullptr)
    return take_assigned(*assign, assign->target.get<ast::NameRef>()->name.text);
  if (const auto* log = stmt.get<ast::Log>()) {
    if (!log->value) names.insert(log->name.text);
    take(log->merge);
  }
  ast::for_each_child(stmt, *this);
}

void Reads::operator()(const ast::Item& item) {
  const auto* step = item.get<ast::Step>();
  const ast::Fn* fn = step != nullptr ? &step->fn : item.get<ast::Fn>();
  const std::vector<std::string> own = fn != nullptr ? own_names(*fn) : std::vector<std::string>();
  if (const auto* state = item.get<ast::State>()) take(state->merge);
  if (step != nullptr) take(step->copy_of);
  if (const auto* optimizer = item.get<ast::Optimizer>()) {
    // `net.weights` names weights, and does not read what they belong to.
    if (const auto* call = optimizer->value.get<ast::Call>(); call != nullptr) {
      owned.emplace_back();
      for (const ast::Argument& argument : call->arguments) take_weights(*argument.value);
      (*this)(*call->callee);
      for (const ast::Setting& setting : optimizer->settings) (*this)(setting.value);
      for (const ast::Group& group : optimizer->groups) {
        for (const ast::Setting& setting : group.settings) (*this)(setting.value);
      }
      return;
    }
  }
  ast::for_each_child(item, *this);
  for (const std::string& name : own) values.erase(name);
}

void Reads::operator()(const ast::Decl& decl) {
  const auto* fn = decl.get<ast::Fn>();
  const std::vector<std::string> own = fn != nullptr ? own_names(*fn) : std::vector<std::string>();
  if (const auto* callback = decl.get<ast::Callback>(); callback != nullptr && callback->model)
    take_type(callback->model->text);
  if (const auto* topology = decl.get<ast::Topology>()) {
    for (const ast::Shard& shard : topology->shards) take(shard.at);
    for (const ast::Recompute& recompute : topology->recomputes) names.insert(recompute.at.text);
  }
  ast::for_each_child(decl, *this);
  for (const std::string& name : own) values.erase(name);
}

void Reads::take_assigned(const ast::Assign& assign, std::string_view target) {
  const bool was_read = names.contains(target);
  (*this)(assign.value);
  if (!was_read) names.erase(target);
}

const ast::Name* Reads::whole_member(const ast::Expr& expr) {
  const auto* field = expr.get<ast::Field>();
  const auto* member =
      field != nullptr && field->name.text == "weights" ? field->base->get<ast::NameRef>() : expr.get<ast::NameRef>();
  return member != nullptr ? &member->name : nullptr;
}

void Reads::take_weights(const ast::Expr& expr) {
  if (const auto* list = expr.get<ast::List>()) {
    for (const ast::Expr& element : list->elements) take_weights(element);
    return;
  }
  const ast::Name* member = expr.get<ast::Field>() != nullptr ? whole_member(expr) : nullptr;
  if (member == nullptr) return (*this)(expr);
  owned.back().insert(member->text);
}

std::vector<std::string> Reads::own_names(const ast::Fn& fn) const {
  std::set<std::string> names = ast::assigned_names(fn.body);
  for (const ast::Param& param : fn.params) names.insert(param.name.text);
  std::vector<std::string> own;
  std::ranges::copy_if(names, std::back_inserter(own), [&](const std::string& name) { return !values.contains(name); });
  return own;
}

}  // namespace ltr::check
