#include <algorithm>

#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// What a checked value is as a dim.
std::optional<Polynomial> dim_of(const ExprView& value, Span span, Scope& scope) {
  if (value.type.is_error()) return std::nullopt;
  if (value.type.kind != Kind::Int) {
    diagnostics::Diagnostic diagnostic = diag::wrong_type(span, "a dim is an int, not " + scope.cx.text(value.type));
    add_cure(diagnostic, value, Type::of(Kind::Int), scope.cx);
    forget(value, diagnostic, scope);
    scope.cx.report(std::move(diagnostic));
    return std::nullopt;
  }
  return value.type.value ? *value.type.value : scope.cx.program.atoms.unknown();
}

/// What may be a dim: what is declared near by, without functions, or numbers of the file and of those that it imports.
std::vector<std::string> near_sizes(const Scope& scope) {
  std::vector<std::string> names = scope.near_names();
  if (scope.owner != nullptr)
    std::erase_if(names, [&](const std::string& name) { return scope.owner->fns.contains(name); });
  return names;
}
std::vector<std::string> far_sizes(const Scope& scope) {
  std::vector<std::string> names = scope.cx.graph.visible(scope.module);
  std::erase_if(names, [&](const std::string& name) {
    const Symbol* symbol = scope.cx.graph.find(scope.module, name);
    return symbol == nullptr || (symbol->kind != SymbolKind::Const && symbol->kind != SymbolKind::Hparam);
  });
  return names;
}

/// How the function of whose types `scope` is begins.
std::string declared_as(const Scope& scope) {
  if (scope.info == nullptr) return "fn f";
  return (scope.info->role == FnRole::Step ? "step " : "fn ") + scope.info->name;
}

std::optional<Polynomial> dim_name(const ast::Expr& expr, const ast::NameRef& ref, Scope& scope) {
  const std::string& name = ref.name.text;
  if (const auto dim = scope.dim_names.find(name); dim != scope.dim_names.end()) return Polynomial::atom(dim->second);
  const bool is_known =
      scope.find_local(name) ||
      (scope.owner != nullptr && (scope.owner->members.contains(name) ||
                                  std::any_of(scope.owner->params.begin(), scope.owner->params.end(),
                                              [&](const ParamInfo& param) { return param.name == name; }))) ||
      scope.cx.graph.find(scope.module, name) != nullptr;
  if (!is_known && lacks_params(scope)) return std::nullopt;
  if (!is_known) {
    diagnostics::Diagnostic diagnostic = diag::unknown_dim(ref.name.span, name);
    const bool is_near =
        scope.cx.may_search(scope.module) && (did_you_mean(diagnostic, name, ref.name.span, near_sizes(scope)) ||
                                              did_you_mean(diagnostic, name, ref.name.span, far_sizes(scope)));
    std::string binders;
    for (const auto& [binder, atom] : scope.dim_names) binders += binder + ", ";
    if (!is_near && scope.place == Place::Data && scope.info == nullptr)
      diagnostic.help("a size that differs between batches is a binder: `batch[{}{}] { … }`", binders, name);
    else if (!is_near && scope.place == Place::Member && scope.owner != nullptr)
      diagnostic.help("a member has a size that is known when it is built: a parameter, `{}({}: int)`",
                      scope.owner->name, name);
    else if (!is_near)
      diagnostic.help("a size that differs between calls is a binder: `{}[{}{}](…)`", declared_as(scope), binders,
                      name);
    scope.cx.report(std::move(diagnostic));
    if (scope.missing_binders == nullptr || is_near) return std::nullopt;
    // What it would have been is not known, so nothing is said about its sizes.
    const Polynomial unknown = scope.cx.program.atoms.unknown();
    (*scope.missing_binders)[name] = *unknown.single_atom();
    scope.dim_names[name] = *unknown.single_atom();
    return unknown;
  }
  return dim_of(check_name(expr, ref.name, scope), expr.span, scope);
}

/// Whether the names that a sum or product is made of are dims.
bool has_known_names(const ast::Expr& expr, Scope& scope) {
  if (const auto* ref = expr.get<ast::NameRef>()) return dim_name(expr, *ref, scope).has_value();
  const auto* binary = expr.get<ast::Binary>();
  return binary == nullptr || (has_known_names(*binary->left, scope) && has_known_names(*binary->right, scope));
}

}  // namespace

std::optional<Polynomial> check_dim(const ast::Expr& expr, Scope& scope) {
  if (const auto* ref = expr.get<ast::NameRef>()) return dim_name(expr, *ref, scope);
  // Names inside are looked at first, so that an unknown one is called a dim.
  if (!has_known_names(expr, scope)) return std::nullopt;
  return dim_of(check_expr(expr, scope), expr.span, scope);
}

namespace {

/// What is known of a `...` by no more than a name.
Polynomial size_of_group(std::map<uint32_t, AtomId>& known, uint32_t group, Context& cx) {
  const auto [place, is_new] = known.try_emplace(group);
  if (is_new) place->second = cx.program.atoms.variable("...", cx.next_key++, false, false, true);
  return Polynomial::atom(place->second);
}

}  // namespace

Polynomial count_of(const std::vector<Dim>& dims, Context& cx) {
  Polynomial count = 1;
  for (const Dim& dim : dims) {
    const Polynomial size = dim.group == 0 ? dim.size : size_of_group(cx.groups.counts, dim.group, cx);
    count = cx.program.atoms.multiply(count, size);
  }
  return count;
}

Polynomial rank_of(const std::vector<Dim>& dims, Context& cx) {
  const auto is_one = [](const Dim& dim) { return dim.group == 0; };
  Polynomial rank = int64_t(std::count_if(dims.begin(), dims.end(), is_one));
  for (const Dim& dim : dims) {
    if (!is_one(dim)) rank = rank + size_of_group(cx.groups.ranks, dim.group, cx);
  }
  return rank;
}

std::optional<Expr> expr_of(const Polynomial& value, Scope& scope, Span span) {
  const auto atom_expr = [&](AtomId id) -> std::optional<Expr> {
    const Atom atom = scope.cx.program.atoms.at(id);
    const auto& at_start = scope.cx.program.sizes_at_start;
    if (const auto known = at_start.find(id); known != at_start.end()) return known->second;
    const auto pair = [&](host::Op op) -> std::optional<Expr> {
      auto left = expr_of(atom.left, scope, span);
      auto right = expr_of(atom.right, scope, span);
      if (!left || !right) return std::nullopt;
      return host_op(op, {scope.cx.keep(std::move(*left)), scope.cx.keep(std::move(*right))},
                     Type::host_int(Polynomial::atom(id)), span);
    };
    switch (atom.kind) {
      case Atom::Kind::Unknown: return std::nullopt;
      case Atom::Kind::Exact: return pair(host::Op::Div);
      case Atom::Kind::Floor: return pair(host::Op::FloorDiv);
      case Atom::Kind::Ceil: return pair(host::Op::CeilDiv);
      case Atom::Kind::Remainder: return pair(host::Op::Mod);
      case Atom::Kind::Min: return pair(host::Op::Min);
      case Atom::Kind::Max: return pair(host::Op::Max);
      case Atom::Kind::List: {
        Expr list{Type::list_of(Type::host_int()), span, node::List{}};
        for (const Polynomial& element : atom.elements) {
          auto one = expr_of(element, scope, span);
          if (!one) return std::nullopt;
          list.get<node::List>()->elements.push_back(scope.cx.keep(std::move(*one)));
        }
        list.type.value = Polynomial(int64_t(atom.elements.size()));
        return list;
      }
      case Atom::Kind::Element: {
        auto list = expr_of(atom.left, scope, span);
        auto index = expr_of(atom.right, scope, span);
        if (!list || !index) return std::nullopt;
        const Type type = Type::host_int(Polynomial::atom(id));
        if (list->type.kind == Kind::Tuple)
          return Expr{type, span, node::TupleElement{scope.cx.keep(std::move(*list)), *atom.right.constant()}};
        return Expr{type, span, node::ListElement{scope.cx.keep(std::move(*list)), scope.cx.keep(std::move(*index))}};
      }
      case Atom::Kind::Variable: break;
    }
    for (LocalId local = 0; local < scope.locals.size(); ++local) {
      if (auto part = part_that_is(id, local_expr(local, scope, span), span, scope.cx)) return part;
    }
    if (scope.owner != nullptr) {
      for (const ParamInfo& param : scope.owner->params) {
        Expr whole{param.type, span, node::Member{scope.cx.keep(self_expr(scope, span)), param.name, true}};
        if (auto part = part_that_is(id, std::move(whole), span, scope.cx)) return part;
      }
    }
    return std::nullopt;
  };
  Context& cx = scope.cx;
  const auto product = [&](Expr left, Expr right) {
    return host_op(host::Op::Mul, {cx.keep(std::move(left)), cx.keep(std::move(right))}, Type::host_int(), span);
  };
  std::optional<Expr> sum;
  for (const auto& [monomial, coefficient] : value.terms()) {
    std::optional<Expr> term;
    if (monomial.empty() || coefficient != 1) term = int_const(coefficient, span);
    for (const auto& [id, power] : monomial) {
      const std::optional<Expr> atom = atom_expr(id);
      if (!atom) return std::nullopt;
      for (int i = 0; i < power; ++i) {
        term = term ? product(std::move(*term), *atom) : *atom;
      }
    }
    sum = sum ? host_op(host::Op::Add, {cx.keep(std::move(*sum)), cx.keep(std::move(*term))}, Type::host_int(), span)
              : *term;
  }
  if (!sum) sum = int_const(0, span);
  return sum;
}

}  // namespace ltr::check
