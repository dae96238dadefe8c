// What else a name would mean that is unknown, or no value of the kind that is wanted, where it stands.

#include <algorithm>

#include "dsl/ast/assigned.h"
#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/items.h"

namespace ltr::check {

namespace {

/// Where a body first assigns a name, and where it first records a value under it.
struct FindAssigned {
  std::string_view name;
  Span found;
  Span logged;
  Span value;             ///< what it is given
  int depth = 0;          ///< of bodies that may not be run
  bool is_inner = false;  ///< it is in one of them

  void operator()(const ast::Stmt& stmt) {
    for (const ast::Assignment& one : ast::assignments_of(stmt)) {
      if (!one.is_whole || one.name->text != name || !found.is_empty()) continue;
      found = one.name->span;
      value = one.value->span;
      is_inner = depth > 0;
    }
    if (const auto* log = stmt.get<ast::Log>();
        log != nullptr && log->value && log->name.text == name && logged.is_empty())
      logged = log->name.span;
    const bool is_branch = stmt.get<ast::NoGrad>() == nullptr;
    depth += is_branch ? 1 : 0;
    ast::for_each_child(stmt, *this);
    depth -= is_branch ? 1 : 0;
  }
  void operator()(const auto&) {}
};

/// A member below the place where it is read; those that functions read may stand anywhere.
const ast::Name* find_late_member(const ast::Name& name, const Scope& scope) {
  const ast::Decl* decl = scope.owner != nullptr ? scope.owner->decl : nullptr;
  const std::vector<ast::Item>* items = decl != nullptr ? items_in(*decl) : nullptr;
  if (items == nullptr || (scope.place != Place::Member && scope.place != Place::Data)) return nullptr;
  for (const ast::Item& item : *items) {
    const auto* let = item.get<ast::Let>();
    const auto* member = item.get<ast::Member>();
    const auto* weight = item.get<ast::Parameter>();
    const ast::Name* own = let != nullptr      ? &let->name
                           : member != nullptr ? &member->name
                           : weight != nullptr ? &weight->name
                                               : nullptr;
    if (own != nullptr && own->text == name.text && own->span.begin > name.span.begin) return own;
  }
  return nullptr;
}

}  // namespace

bool help_late_name(diagnostics::Diagnostic& diagnostic, const ast::Name& name, bool is_called, const Scope& scope) {
  if (const ast::Name* member = find_late_member(name, scope)) {
    diagnostic.label(member->span, "declared here").note("members are made in the order in which they stand");
    return true;
  }
  if (scope.info == nullptr || scope.info->ast == nullptr) return false;
  FindAssigned assigned{.name = name.text};
  for (const ast::Stmt& stmt : scope.info->ast->body) assigned(stmt);
  if (assigned.found.is_empty() && !assigned.logged.is_empty() && assigned.logged.begin < name.span.begin) {
    diagnostic.label(assigned.logged, "recorded here")
        .note("`log` records a value, and makes no name of it")
        .help("`{} = …`, then `log {}`", name.text, name.text);
    return true;
  }
  if (assigned.found.is_empty()) return false;
  if (source::join(assigned.value, name.span) == assigned.value) {
    // `inverse = inverse(x)` means a function that is called otherwise here; what is no call reads its own value.
    if (is_called) return false;
    diagnostic.label(assigned.found, "assigned here").note("it has no value yet where this one is computed");
  } else if (assigned.found.begin > name.span.begin) {
    diagnostic.label(assigned.found, "assigned here").note("a name is known below its first assignment");
  } else if (!assigned.is_inner) {
    return false;
  } else {
    diagnostic.label(assigned.found, "assigned here, in a branch or a loop")
        .note("what is first assigned in a branch or a loop is unknown behind it")
        .help("give it a value before: `{} = …`", name.text);
  }
  return true;
}

bool lacks_params(const Scope& scope) {
  const auto lacks = [](const std::vector<ParamInfo>& params) {
    return std::any_of(params.begin(), params.end(), [](const ParamInfo& param) { return param.name.empty(); });
  };
  return (scope.owner != nullptr && lacks(scope.owner->params)) || (scope.info != nullptr && lacks(scope.info->params));
}

void note_hidden(diagnostics::Diagnostic& diagnostic, const std::string& name, Span declared, const Context& cx) {
  const resolve::ModuleGraph& graph = cx.graph;
  if (!graph.prelude.contains(name) && !graph.stages.contains(name)) return;
  if (!declared.is_empty()) diagnostic.label(declared, "this `{}` hides that of the library", name);
  diagnostic.note("the library has a `{}`, too, which the name hides here", name).help("choose another name for it");
}

void note_hiding(diagnostics::Diagnostic& diagnostic, Span place, Span use, const Context& cx) {
  if (place.is_empty()) return;
  const resolve::Module& module = cx.graph.modules[cx.graph.module_of(place.source)];
  if (module.is_library) return;
  for (const auto& [name, symbol] : module.symbols) {
    const auto is_around = [whole = symbol.decl != nullptr ? symbol.decl->span : Span{}](Span inner) {
      return whole.source == inner.source && whole.begin <= inner.begin && inner.end <= whole.end;
    };
    if (is_around(place) && !is_around(use)) note_hidden(diagnostic, name, {}, cx);
  }
}

}  // namespace ltr::check
