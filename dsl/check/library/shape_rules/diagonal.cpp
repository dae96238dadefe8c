#include <algorithm>

#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

namespace {

/// How many elements the diagonal `offset` of a `rows` × `columns` matrix has; it must have some.
std::optional<Polynomial> length_of(const Polynomial& rows, const Polynomial& columns, const ExprView& offset,
                                    CallSite& site) {
  AtomTable& atoms = site.scope.cx.program.atoms;
  const auto shift = offset.type.value ? offset.type.value->constant() : std::nullopt;
  if (!shift || atoms.mentions_unknown(rows) || atoms.mentions_unknown(columns)) return atoms.unknown();
  const Polynomial length = *shift >= 0 ? atoms.minimum(rows, columns - *shift) : atoms.minimum(rows + *shift, columns);
  if (length.constant() && *length.constant() < 1) {
    site.scope.cx.report(diag::out_of_range(offset.span.is_empty() ? site.span : offset.span,
                                            "there is no diagonal " + std::to_string(*shift) + " in " +
                                                site.scope.cx.text(rows) + " rows and " + site.scope.cx.text(columns) +
                                                " columns"));
    return std::nullopt;
  }
  return length;
}

}  // namespace

Expr rule_diagonal(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  const auto a = axis_of((*args)[2], type, site);
  const auto b = axis_of((*args)[3], type, site);
  if (!a || !b) return error_at(site.span);
  if (*a == *b) {
    site.scope.cx.report(diag::wrong_argument(site.span, "a diagonal runs through two axes"));
    return error_at(site.span);
  }
  const auto length = length_of(type.dims[*a].size, type.dims[*b].size, (*args)[1], site);
  if (!length) return error_at(site.span);
  type.dims.erase(type.dims.begin() + long(std::max(*a, *b)));
  type.dims.erase(type.dims.begin() + long(std::min(*a, *b)));
  type.dims.push_back({.size = *length, .group = 0});
  return typed_call(op, std::move(type), site, std::move(*args));
}

Expr rule_triangle(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  const Type type = (*args)[0].type;
  size_t named = 0;
  for (const Dim& dim : type.dims) named += dim.group == 0 ? 1 : 0;
  if (named < 2 || type.dims.back().group != 0) {
    site.scope.cx.report(diag::wrong_rank(
        site.span, "`" + op.name + "` works on the last two axes, not on " + site.scope.cx.text(type)));
    return error_at(site.span);
  }
  return typed_call(op, type, site, std::move(*args));
}

}  // namespace ltr::check
