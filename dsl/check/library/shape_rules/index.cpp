#include "dsl/check/expressions/origins.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

namespace {

/// Values, and as many places where they were.
Type with_places(const Type& values) {
  Type places = values;
  places.element = Element::I64;
  Type result = Type::of(Kind::Tuple);
  result.fields = {{"", values}, {"", places}};
  return result;
}

/// Whether the places in `index` are `i64`; reports it otherwise.
bool want_places(const ExprView& index, CallSite& site) {
  if (!want_tensor(index, site)) return false;
  if (index.type.element == Element::I64) return true;
  site.scope.cx.report(
      diag::wrong_element(index.span, "the index of `" + site.name + "` is i64, not " + site.scope.cx.text(index.type))
          .help("`.to(i64)` converts"));
  return false;
}

bool want_rank_of(const ExprView& index, const Type& tensor, CallSite& site) {
  if (index.type.dims.size() == tensor.dims.size()) return true;
  diagnostics::Diagnostic diagnostic = diag::wrong_rank(
      site.span, "`" + site.name + "` needs an index with as many dims as its tensor: " + site.scope.cx.text(tensor) +
                     " and " + site.scope.cx.text(index.type));
  const std::string maker = maker_of(index, site.scope);
  if (index.type.dims.size() + 1 == tensor.dims.size() && (maker == "argmax" || maker == "argmin")) {
    const Assigned assigned = find_assigned(index, site.scope);
    if (assigned.value != nullptr) diagnostic.label(assigned.value->span, "`{}` takes the dim away", maker);
    diagnostic.help("`{}(…, keepdim = true)` keeps it as a dim of size 1", maker);
  }
  site.scope.cx.report(std::move(diagnostic));
  return false;
}

}  // namespace

namespace {

/// Whether the index stays within the tensor along the other axes; reports it otherwise.
bool want_index_within(const ExprView& index, const Type& tensor, size_t axis, CallSite& site) {
  const Context& cx = site.scope.cx;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    const Dim &own = index.type.dims[i], &whole = tensor.dims[i];
    if (i == axis || own.group != 0 || whole.group != 0) continue;
    Requirement fits;
    fits.kind = Requirement::Kind::AtMost;
    fits.left = own.size;
    fits.right = whole.size;
    if (decide(fits, cx) != Truth::False) continue;
    site.scope.cx.report(
        diag::dims_differ(index.span.is_empty() ? site.span : index.span,
                          "the index of `" + site.name + "` is larger than its tensor along axis " + std::to_string(i))
            .note("they are {} and {}", cx.text(index.type), cx.text(tensor)));
    return false;
  }
  return true;
}

}  // namespace

Expr rule_topk(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  Type values = (*args)[0].type;
  const auto axis = axis_of((*args)[2], values, site);
  if (!axis) return error_at(site.span);
  const ExprView& count = (*args)[1];
  Polynomial& size = values.dims[*axis].size;
  if (count.type.value && !cx.program.atoms.mentions_unknown(size)) {
    Requirement fits;
    fits.kind = Requirement::Kind::AtMost;
    fits.left = *count.type.value;
    fits.right = size;
    fits.text = cx.text(fits.left) + " <= " + cx.text(fits.right);
    fits.origin = count.span.is_empty() ? site.span : count.span;
    require(std::move(fits), site.span, site.scope);
  }
  size = count.type.value ? *count.type.value : cx.program.atoms.unknown();
  return typed_call(op, with_places(values), site, std::move(*args));
}

Expr rule_sort(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  const Type values = (*args)[0].type;
  if (!axis_of((*args)[1], values, site)) return error_at(site.span);
  return typed_call(op, with_places(values), site, std::move(*args));
}

Expr rule_index_select(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site) || !want_places((*args)[2], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  const auto axis = axis_of((*args)[1], type, site);
  if (!axis) return error_at(site.span);
  if ((*args)[2].type.dims.size() != 1) {
    site.scope.cx.report(diag::wrong_rank((*args)[2].span, "the index of `index_select` has one dim"));
    return error_at(site.span);
  }
  type.dims[*axis] = (*args)[2].type.dims[0];
  return typed_call(op, std::move(type), site, std::move(*args));
}

Expr rule_select(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  const auto axis = axis_of((*args)[1], type, site);
  if (!axis) return error_at(site.span);
  const auto& place = (*args)[2].type.value;
  const auto at = place ? place->constant() : std::nullopt;
  const auto size = type.dims[*axis].size.constant();
  if (at && size && (*at >= *size || *at < -*size)) {
    site.scope.cx.report(diag::out_of_range(
        (*args)[2].span,
        "the index " + std::to_string(*at) + " lies outside of a dim of size " + std::to_string(*size)));
    return error_at(site.span);
  }
  type.dims.erase(type.dims.begin() + long(*axis));
  return typed_call(op, std::move(type), site, std::move(*args));
}

Expr rule_gather(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site) || !want_places((*args)[2], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  const auto axis = axis_of((*args)[1], type, site);
  if (!axis || !want_rank_of((*args)[2], type, site) || !want_index_within((*args)[2], type, *axis, site))
    return error_at(site.span);
  type.dims = (*args)[2].type.dims;
  return typed_call(op, std::move(type), site, std::move(*args));
}

// What is written has the shape of the index, or is one number for all.
Expr rule_scatter(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site) || !want_places((*args)[2], site)) return error_at(site.span);
  adopt_element(*args, 0, 3, site.scope.cx);
  const Type type = (*args)[0].type;
  const Type& source = (*args)[3].type;
  const auto axis = axis_of((*args)[1], type, site);
  if (!axis || !want_rank_of((*args)[2], type, site) || !want_index_within((*args)[2], type, *axis, site))
    return error_at(site.span);
  if (source.element != type.element) {
    cx.report(
        diag::wrong_element(site.span, "`" + op.name + "` cannot write " + cx.text(source) + " into " + cx.text(type)));
    return error_at(site.span);
  }
  const std::vector<Dim>& places = (*args)[2].type.dims;
  bool is_equal = source.dims.empty() || source.dims.size() == places.size();
  for (size_t i = 0; is_equal && i < source.dims.size(); ++i) {
    is_equal = source.dims[i] == places[i] ||
               (source.dims[i].group == 0 && places[i].group == 0 &&
                require_equal(source.dims[i].size, places[i].size, site.span, site.scope, true));
  }
  if (!is_equal) {
    cx.report(diag::dims_differ(site.span, "the source and the index of `" + op.name +
                                               "` have one shape, and these are " + cx.text(source) + " and " +
                                               cx.text((*args)[2].type)));
    return error_at(site.span);
  }
  return typed_call(op, type, site, std::move(*args));
}

Expr rule_axis_checked(const FnInfo& op, CallSite& site) {
  Binding binding;
  auto args = op_arguments(op, site, binding);
  if (!args) return error_at(site.span);
  const Type type = (*args)[0].type;
  for (size_t i = 1; i < op.params.size(); ++i) {
    if (op.params[i].name == "dim" && !axis_of((*args)[i], type, site)) return error_at(site.span);
  }
  return typed_call(op, type, site, std::move(*args));
}

Expr rule_flip(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  if (site.given.empty() || site.given[0].name) {
    cx.report(diag::wrong_argument(site.name_span, "`flip` needs a tensor"));
    return error_at(site.span);
  }
  Expr tensor = tensor_given(site.given[0], site);
  if (!want_tensor(tensor, site)) return error_at(site.span);
  if (site.given.size() == 2 && site.given[1].name && site.given[1].name->text == "axes") site.given[1].name.reset();
  auto axes = take_dims(site, 1, 0);
  if (!axes) return error_at(site.span);
  const auto* list = axes->get<node::List>();
  if (site.given.size() != 1 || list == nullptr || list->elements.empty()) {
    cx.report(diag::wrong_argument(site.span, "`flip` takes the axes to turn: `x.flip(0, 1)`"));
    return error_at(site.span);
  }
  for (const ExprId axis : list->elements) {
    if (!axis_of(cx.at(axis), tensor.type, site)) return error_at(site.span);
  }
  const Type type = tensor.type;
  return typed_call(op, type, site, {std::move(tensor), std::move(*axes)});
}

}  // namespace ltr::check
