#include <algorithm>

#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

namespace {

/// The elements of a list argument, as tensors of one element type.
std::optional<std::vector<Type>> tensors_of(const ExprView& list, CallSite& site) {
  Context& cx = site.scope.cx;
  if (list.type.kind != Kind::List || list.type.fields.empty()) {
    cx.report(
        diag::wrong_argument(list.span, "`" + site.name + "` takes a list of tensors, not " + cx.text(list.type)));
    return std::nullopt;
  }
  std::vector<Type> types;
  for (const TypeField& field : list.type.fields) {
    if (!field.type.is_tensor()) {
      cx.report(
          diag::wrong_argument(list.span, "`" + site.name + "` takes a list of tensors, not " + cx.text(list.type)));
      return std::nullopt;
    }
    if (!types.empty() && types[0].element != field.type.element) {
      cx.report(diag::wrong_element(list.span, "`" + site.name + "` joins " + cx.text(types[0]) + " and " +
                                                   cx.text(field.type) + ", whose elements differ"));
      return std::nullopt;
    }
    types.push_back(field.type);
  }
  return types;
}

bool equal_but(const Type& a, const Type& b, std::optional<size_t> axis, CallSite& site) {
  Context& cx = site.scope.cx;
  bool is_equal = a.dims.size() == b.dims.size();
  for (size_t i = 0; is_equal && i < a.dims.size(); ++i) {
    if (axis == i) continue;
    is_equal = a.dims[i].group == b.dims[i].group &&
               (a.dims[i].group != 0 || require_equal(a.dims[i].size, b.dims[i].size, site.span, site.scope, true));
  }
  if (!is_equal) {
    cx.report(diag::dims_differ(site.span, "`" + site.name + "` cannot join " + cx.text(a) + " and " + cx.text(b)));
  }
  return is_equal;
}

}  // namespace

Expr rule_cat(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args) return error_at(site.span);
  const auto types = tensors_of((*args)[0], site);
  if (!types) return error_at(site.span);
  Type result = (*types)[0];
  const auto axis = axis_of((*args)[1], result, site);
  if (!axis) return error_at(site.span);
  for (size_t i = 1; i < types->size(); ++i) {
    if (!equal_but(result, (*types)[i], axis, site)) return error_at(site.span);
    result.dims[*axis].size = result.dims[*axis].size + (*types)[i].dims[*axis].size;
  }
  // A sum with a `?` in it is no more known than the `?` itself.
  if (site.scope.cx.program.atoms.mentions_unknown(result.dims[*axis].size)) {
    result.dims[*axis].size = site.scope.cx.program.atoms.unknown();
  }
  return typed_call(op, std::move(result), site, std::move(*args));
}

Expr rule_stack(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  // Host numbers become 0-d tensors: `stack([row.a, row.b])` is float[2].
  if (!site.given.empty() && !site.given[0].checked && site.given[0].value != nullptr) {
    Expr list = check_expr(*site.given[0].value, site.scope);
    if (list.type.is_error()) return error_at(site.span);
    const bool is_host =
        list.type.kind == Kind::List && !list.type.fields.empty() && list.type.fields[0].type.is_host_number();
    if (is_host && site.given.size() == 1) {
      Type any = Type::tensor(Element::Any, {});
      Expr result = convert(std::move(list), any, site.scope, "the list");
      result.span = site.span;
      return result;
    }
    site.given[0].checked = std::move(list);
  }
  auto args = plain_arguments(op, site);
  if (!args) return error_at(site.span);
  const auto types = tensors_of((*args)[0], site);
  if (!types) return error_at(site.span);
  Type result = (*types)[0];
  for (size_t i = 1; i < types->size(); ++i) {
    if (!equal_but(result, (*types)[i], std::nullopt, site)) return error_at(site.span);
  }
  const auto axis = axis_of((*args)[1], result, site, true);
  if (!axis) return error_at(site.span);
  const Polynomial length = (*args)[0].type.value ? *(*args)[0].type.value : cx.program.atoms.unknown();
  result.dims.insert(result.dims.begin() + long(*axis), Dim{.size = length, .group = 0});
  return typed_call(op, std::move(result), site, std::move(*args));
}

Expr rule_chunk(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  const auto count = (*args)[1].type.value ? (*args)[1].type.value->constant() : std::nullopt;
  if (!count || *count < 1) {
    cx.report(diag::not_a_constant((*args)[1].span, "the number of chunks"));
    return error_at(site.span);
  }
  Type part = (*args)[0].type;
  const auto axis = axis_of((*args)[2], part, site);
  if (!axis) return error_at(site.span);
  const Polynomial size = part.dims[*axis].size;
  if (size.constant() && *size.constant() % *count != 0) {
    cx.report(diag::not_divisible(site.span, cx.text(size) + " / " + std::to_string(*count), cx.text(size),
                                  std::to_string(*count)));
    return error_at(site.span);
  }
  if (!AtomTable::divide(size, *count)) {
    Requirement requirement;
    requirement.kind = Requirement::Kind::Divisible;
    requirement.left = size;
    requirement.right = *count;
    requirement.text = cx.text(size) + " % " + std::to_string(*count) + " == 0";
    requirement.origin = site.span;
    require(std::move(requirement), site.span, site.scope);
  }
  part.dims[*axis].size = cx.program.atoms.exact(size, *count);
  Type list = Type::of(Kind::List);
  list.fields.assign(size_t(*count), TypeField{"", part});
  list.value = Polynomial(*count);
  return typed_call(op, std::move(list), site, std::move(*args));
}

Expr rule_split(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  const Type whole = (*args)[0].type;
  const auto axis = axis_of((*args)[2], whole, site);
  if (!axis) return error_at(site.span);
  Type list = Type::of(Kind::List);
  Polynomial total;
  for (const TypeField& field : (*args)[1].type.fields) {
    Type part = whole;
    part.dims[*axis].size = field.type.value ? *field.type.value : cx.program.atoms.unknown();
    total = total + part.dims[*axis].size;
    list.fields.push_back({"", part});
  }
  if (!require_equal(total, whole.dims[*axis].size, site.span, site.scope, true)) {
    cx.report(diag::dims_differ(site.span,
                                "the parts hold " + cx.text(total) + ", the axis " + cx.text(whole.dims[*axis].size)));
    return error_at(site.span);
  }
  list.value = Polynomial(int64_t(list.fields.size()));
  return typed_call(op, std::move(list), site, std::move(*args));
}

Expr rule_matmul(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site) || !want_tensor((*args)[1], site)) return error_at(site.span);
  const Type& a = (*args)[0].type;
  const Type& b = (*args)[1].type;
  const auto fail = [&](const std::string& reason) {
    cx.report(diag::dims_differ(site.span, "cannot multiply " + cx.text(a) + " and " + cx.text(b) + ": " + reason)
                  .label((*args)[0].span, "{}", cx.text(a))
                  .label((*args)[1].span, "{}", cx.text(b)));
    return error_at(site.span);
  };
  if (a.element != b.element || !is_floating(a.element)) {
    cx.report(diag::wrong_element(site.span, "cannot multiply " + cx.text(a) + " and " + cx.text(b) +
                                                 ": matrices have floating elements of one type"));
    return error_at(site.span);
  }
  if (a.dims.empty() || b.dims.empty()) {
    cx.report(diag::wrong_rank(site.span, "a matrix product needs at least one dim on both sides"));
    return error_at(site.span);
  }
  const Dim& inner_a = a.dims.back();
  const Dim& inner_b = b.dims.size() == 1 ? b.dims[0] : b.dims[b.dims.size() - 2];
  if (inner_a.group != 0 || inner_b.group != 0) return fail("an inner dim is `...`");
  if (!require_equal(inner_a.size, inner_b.size, site.span, site.scope, true)) {
    return fail("`" + cx.text(inner_a.size) + "` meets `" + cx.text(inner_b.size) + "`");
  }
  std::vector<Dim> rest_a(a.dims.begin(), a.dims.end() - std::min<long>(2, long(a.dims.size())));
  std::vector<Dim> rest_b(b.dims.begin(), b.dims.end() - std::min<long>(2, long(b.dims.size())));
  Broadcast batch = broadcast(rest_a, rest_b, cx);
  if (!batch.dims) return fail("their leading dims differ");
  for (const auto& [left, right] : batch.equal) {
    if (!require_equal(left, right, site.span, site.scope, true)) return fail("their leading dims differ");
  }
  std::vector<Dim> dims = *batch.dims;
  if (a.dims.size() > 1) dims.push_back(a.dims[a.dims.size() - 2]);
  if (b.dims.size() > 1) dims.push_back(b.dims.back());
  const Element element = a.element;
  return typed_call(op, Type::tensor(element, std::move(dims)), site, std::move(*args));
}

}  // namespace ltr::check
