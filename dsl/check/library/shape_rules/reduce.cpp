#include <algorithm>

#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

namespace {

/// A sum or product of integers may be larger than each of them.
Element total_of(Element element) { return is_floating(element) || element == Element::Any ? element : Element::I64; }

/// The axes of `x.mean([2, 3])`, as written.
const ast::List* listed_axes(const CallSite& site) {
  for (size_t i = 1; i < site.given.size(); ++i) {
    const Given& given = site.given[i];
    const bool is_dim = given.name ? given.name->text == "dim" : i == 1;
    if (is_dim && given.value != nullptr) return given.value->get<ast::List>();
  }
  return nullptr;
}

Expr one_axis_only(const FnInfo& op, CallSite& site) {
  site.scope.cx.report(diag::wrong_argument(site.span, "`" + op.name + "` reduces one axis or all")
                           .help("`.flatten(a, b)` makes one axis of several"));
  return error_at(site.span);
}

/// Several axes are reduced one after the other, the last one first, so that the others keep their
/// numbers.
Expr reduce_listed(const FnInfo& op, const ast::List& axes, CallSite& site) {
  Context& cx = site.scope.cx;
  if (axes.elements.empty()) return one_axis_only(op, site);
  Expr value = check_given(site.given[0], site.scope);
  if (!want_tensor(value, site)) return error_at(site.span);
  std::set<size_t> sorted;
  for (const ast::Expr& element : axes.elements) {
    const Expr axis = check_as(element, Type::of(Kind::Int), site.scope, "an axis");
    if (axis.type.is_error()) return error_at(site.span);
    const auto place = axis_of(axis, value.type, site);
    if (!place) return error_at(site.span);
    if (!sorted.insert(*place).second) {
      cx.report(diag::wrong_argument(axis.span, "this axis is named twice"));
      return error_at(site.span);
    }
  }
  for (auto axis = sorted.rbegin(); axis != sorted.rend(); ++axis) {
    CallSite once{site.name, site.name_span, site.span, site.given, site.scope};
    for (size_t i = 1; i < once.given.size(); ++i) {
      const bool is_dim = once.given[i].name ? once.given[i].name->text == "dim" : i == 1;
      if (!is_dim) continue;
      once.given[i].value = nullptr;
      once.given[i].checked = int_const(int64_t(*axis), site.span);
    }
    once.given[0].checked = std::move(value);
    value = call_by_rule(op, once);
    if (value.type.is_error()) return value;
  }
  return value;
}

/// `max(a, b)` of two tensors, which is called otherwise. False if it is none.
bool report_pairwise(const FnInfo& op, CallSite& site) {
  const bool has_two = site.given.size() == 2 && !site.given[1].name && site.given[1].value != nullptr;
  if (!has_two || (op.id != library::Id::Max && op.id != library::Id::Min)) return false;
  site.given[1].checked = check_given(site.given[1], site.scope);
  if (!site.given[1].checked->type.is_tensor()) return false;
  const std::string ours = op.name + "imum";
  site.scope.cx.report(
      diag::wrong_argument(site.given[1].span, "`" + op.name + "` is the " +
                                                   (op.id == library::Id::Min ? "smallest" : "largest") +
                                                   " along one axis, and this is a tensor")
          .help("of two tensors, element by element: `{}(a, b)`", ours)
          .fix(site.name_span, ours));
  return true;
}

/// The largest of nothing, which is none. False if there may be elements along the axis.
bool report_no_elements(const FnInfo& op, const ExprView& x, const ExprView& dim, CallSite& site) {
  using library::Id;
  const bool is_choice = op.id == Id::Max || op.id == Id::Min || op.id == Id::Argmax || op.id == Id::Argmin;
  const auto is_none = [](const Dim& one) { return one.group == 0 && one.size.constant() == 0; };
  if (!is_choice || !dim.is<node::NoneConst>() || !std::ranges::any_of(x.type.dims, is_none)) return false;
  site.scope.cx.report(diag::wrong_argument(site.span, "`" + op.name + "` of no elements has no value")
                           .label(x.span, "{}", site.scope.cx.text(x.type)));
  return true;
}

Expr reduce(const FnInfo& op, bool is_total, CallSite& site) {
  Context& cx = site.scope.cx;
  if (report_pairwise(op, site)) return error_at(site.span);
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  const Type before = (*args)[0].type;
  const bool needs_float = op.params[0].type.element == Element::Float;
  if (needs_float && !is_floating(before.element)) {
    cx.report(diag::wrong_element(site.span, "`" + op.name + "` needs floating elements, not " + cx.text(before))
                  .label((*args)[0].span, "{}", cx.text(before))
                  .help("`.to(float)` converts"));
    return error_at(site.span);
  }
  size_t dim_at = 1, keep_at = 2;
  for (size_t i = 0; i < op.params.size(); ++i) {
    if (op.params[i].name == "dim") dim_at = i;
    if (op.params[i].name == "keepdim") keep_at = i;
  }
  if (report_no_elements(op, (*args)[0], (*args)[dim_at], site)) return error_at(site.span);
  Type result = before;
  const Element declared = op.result.element;
  const bool is_fixed = declared == Element::I64 || declared == Element::Bool;
  result.element = is_fixed ? declared : is_total ? total_of(before.element) : before.element;
  const auto* keep = (*args)[keep_at].get<node::BoolConst>();
  if ((*args)[dim_at].is<node::NoneConst>()) {
    result.dims.clear();
  } else {
    const auto axis = axis_of((*args)[dim_at], before, site);
    if (!axis) return error_at(site.span);
    if (keep != nullptr && keep->value) {
      result.dims[*axis].size = 1;
    } else {
      result.dims.erase(result.dims.begin() + long(*axis));
    }
  }
  return typed_call(op, std::move(result), site, std::move(*args));
}

}  // namespace

Expr rule_reduction(const FnInfo& op, CallSite& site) {
  if (const ast::List* axes = listed_axes(site)) return reduce_listed(op, *axes, site);
  return reduce(op, false, site);
}

Expr rule_total(const FnInfo& op, CallSite& site) {
  if (const ast::List* axes = listed_axes(site)) return reduce_listed(op, *axes, site);
  return reduce(op, true, site);
}

// A variance of variances is not the variance, and a place is a place along one axis.
Expr rule_reduction_of_one(const FnInfo& op, CallSite& site) {
  return listed_axes(site) != nullptr ? one_axis_only(op, site) : reduce(op, false, site);
}

Expr rule_cumulative(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  if (!axis_of((*args)[1], type, site)) return error_at(site.span);
  type.element = total_of(type.element);
  return typed_call(op, std::move(type), site, std::move(*args));
}

}  // namespace ltr::check
