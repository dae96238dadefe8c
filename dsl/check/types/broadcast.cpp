#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

Broadcast broadcast(const std::vector<Dim>& left, const std::vector<Dim>& right, Context& cx) {
  Broadcast result;
  std::vector<Dim> dims;
  const bool left_longer = left.size() >= right.size();
  const std::vector<Dim>& longer = left_longer ? left : right;
  const std::vector<Dim>& shorter = left_longer ? right : left;
  const bool ranks_differ = longer.size() != shorter.size();
  for (size_t i = 0; i < longer.size(); ++i) {
    const Dim& a = longer[longer.size() - 1 - i];
    if (i >= shorter.size()) {
      dims.insert(dims.begin(), a);
      continue;
    }
    const Dim& b = shorter[shorter.size() - 1 - i];
    if (a == b) {
      dims.insert(dims.begin(), a);
      continue;
    }
    if (a.group != 0 || b.group != 0) {
      // What `...` stands for is not known here, so nothing but nothing may stand beside it.
      result.is_symbolic_clash = true;
      return result;
    }
    const bool a_known = a.size.constant().has_value(), b_known = b.size.constant().has_value();
    if (b.size.is_one()) {
      dims.insert(dims.begin(), a);
    } else if (a.size.is_one()) {
      if (ranks_differ && !b_known && !cx.program.atoms.mentions_unknown(b.size)) {
        result.is_symbolic_clash = true;
        return result;
      }
      dims.insert(dims.begin(), b);
    } else if (cx.program.atoms.mentions_unknown(a.size)) {
      dims.insert(dims.begin(), b);
    } else if (cx.program.atoms.mentions_unknown(b.size)) {
      dims.insert(dims.begin(), a);
    } else if (a_known && b_known) {
      return result;
    } else {
      result.equal.emplace_back(a.size, b.size);
      dims.insert(dims.begin(), a);
    }
  }
  result.dims = std::move(dims);
  return result;
}

void hold_unknown_dims(Expr& side, const std::vector<Dim>& dims, Scope& scope) {
  Context& cx = scope.cx;
  const std::vector<Dim>& own = side.type.dims;
  Type held = side.type;
  node::CheckShape check;
  bool is_held = false;
  for (size_t i = 0; i < own.size(); ++i) {
    const Dim& wanted = dims[dims.size() - own.size() + i];
    const bool is_open = own[i].group == 0 && wanted.group == 0 && cx.program.atoms.mentions_unknown(own[i].size) &&
                         !cx.program.atoms.mentions_unknown(wanted.size);
    auto size = is_open ? expr_of(wanted.size, scope, side.span) : std::nullopt;
    is_held = is_held || size;
    if (size) held.dims[i] = wanted;
    check.dims.push_back(cx.keep(size ? std::move(*size) : int_const(-1, side.span)));
  }
  if (!is_held) return;
  const Span span = side.span;
  check.text = cx.text(held);
  check.tensor = cx.keep(std::move(side));
  Obligation obligation;
  obligation.text = cx.source_text(span) + " as " + check.text;
  obligation.fate = Fate::FirstBatch;
  obligation.why = "rests on a dim that only run time knows";
  obligation.span = span;
  cx.program.obligations.push_back(std::move(obligation));
  side = Expr{std::move(held), span, std::move(check)};
}

namespace {

std::optional<Type> broadcast_all(const std::vector<Type>& types, CallSite& site) {
  Context& cx = site.scope.cx;
  Type result = types[0];
  for (size_t i = 1; i < types.size(); ++i) {
    const Broadcast shape = broadcast(result.dims, types[i].dims, cx);
    if (shape.is_symbolic_clash) {
      cx.report(diag::symbolic_broadcast(site.span, "combine", cx.text(result), cx.text(types[i])));
      return std::nullopt;
    }
    bool is_equal = shape.dims.has_value();
    for (const auto& [a, b] : shape.equal) is_equal = is_equal && require_equal(a, b, site.span, site.scope, true);
    if (!is_equal) {
      cx.report(diag::dims_differ(
          site.span, "`" + site.name + "` cannot combine " + cx.text(result) + " and " + cx.text(types[i])));
      return std::nullopt;
    }
    result.dims = *shape.dims;
  }
  return result;
}

}  // namespace

Expr rule_broadcast(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args) return error_at(site.span);
  adopt_element(*args, 0, 1, site.scope.cx);
  adopt_element(*args, 1, 0, site.scope.cx);
  std::vector<Type> types;
  for (const Expr& arg : *args) {
    if (!want_tensor(arg, site)) return error_at(site.span);
    if (!types.empty() && types[0].element != arg.type.element) {
      site.scope.cx.report(
          diag::wrong_element(site.span, "`" + op.name + "` takes two tensors of one element type, not " +
                                             site.scope.cx.text(types[0]) + " and " + site.scope.cx.text(arg.type)));
      return error_at(site.span);
    }
    types.push_back(arg.type);
  }
  const auto type = broadcast_all(types, site);
  if (!type) return error_at(site.span);
  for (Expr& arg : *args) hold_unknown_dims(arg, type->dims, site.scope);
  return typed_call(op, *type, site, std::move(*args));
}

Expr rule_where(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args) return error_at(site.span);
  if (!want_tensor((*args)[0], site)) return error_at(site.span);
  if ((*args)[0].type.element != Element::Bool) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_element((*args)[0].span, "the condition of `where` is a bool tensor");
    // `x.where(c, y)`, as PyTorch has it.
    const auto text = [&](size_t i) { return site.scope.cx.source_text((*args)[i].span); };
    if ((*args)[1].type.is_tensor() && (*args)[1].type.element == Element::Bool)
      diagnostic.help("it stands first: `where({}, {}, {})`", text(1), text(0), text(2));
    site.scope.cx.report(std::move(diagnostic));
    return error_at(site.span);
  }
  adopt_element(*args, 1, 2, site.scope.cx);
  adopt_element(*args, 2, 1, site.scope.cx);
  if ((*args)[1].type.element != (*args)[2].type.element) {
    site.scope.cx.report(diag::wrong_element(site.span, "the branches of `where` are " +
                                                            site.scope.cx.text((*args)[1].type) + " and " +
                                                            site.scope.cx.text((*args)[2].type)));
    return error_at(site.span);
  }
  const auto type = broadcast_all({(*args)[1].type, (*args)[2].type, (*args)[0].type}, site);
  if (!type) return error_at(site.span);
  for (Expr& arg : *args) hold_unknown_dims(arg, type->dims, site.scope);
  return typed_call(op, *type, site, std::move(*args));
}

// A host exponent or base stays a number, so that `pow(x, 2)` of a float tensor is float.
Expr rule_power(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  const auto bound = bind_arguments(op.params, site, op.name);
  if (!bound) return error_at(site.span);
  std::vector<Expr> args;
  for (const Given* given : *bound) {
    args.push_back(tensor_given(*given, site));
    if (args.back().type.is_error()) return error_at(site.span);
    if (!args.back().type.is_host_number() && !want_tensor(args.back(), site)) return error_at(site.span);
  }
  if (!args[0].type.is_tensor() || !args[1].type.is_tensor()) {
    Type type = args[0].type.is_tensor() ? args[0].type : args[1].type;
    const Kind host = args[0].type.is_tensor() ? args[1].type.kind : args[0].type.kind;
    if (host == Kind::Float && !is_floating(type.element) && type.element != Element::Any)
      type.element = Element::Float;
    return typed_call(op, std::move(type), site, std::move(args));
  }
  if (args[0].type.element != args[1].type.element) {
    cx.report(diag::wrong_element(site.span,
                                  "cannot raise " + cx.text(args[0].type) + " to the power " + cx.text(args[1].type)));
    return error_at(site.span);
  }
  const auto type = broadcast_all({args[0].type, args[1].type}, site);
  if (!type) return error_at(site.span);
  return typed_call(op, *type, site, std::move(args));
}

// The mask broadcasts to its tensor, and the value takes the tensor's element type.
Expr rule_masked_fill(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site) || !want_tensor((*args)[1], site)) return error_at(site.span);
  const Type type = (*args)[0].type;
  const Type& mask = (*args)[1].type;
  if (mask.element != Element::Bool) {
    cx.report(diag::wrong_element((*args)[1].span, "the mask of `masked_fill` is bool, not " + cx.text(mask)));
    return error_at(site.span);
  }
  const auto shape = broadcast_all({type, mask}, site);
  if (!shape) return error_at(site.span);
  if (shape->dims.size() != type.dims.size()) {
    cx.report(diag::wrong_rank(site.span, "a mask " + cx.text(mask) + " does not fit into " + cx.text(type)));
    return error_at(site.span);
  }
  return typed_call(op, *shape, site, std::move(*args));
}

}  // namespace ltr::check
