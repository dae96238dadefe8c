#include <algorithm>

#include "dsl/check/expressions/origins.h"
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

/// The one axis in which two tensors of a rank differ; nothing if there is no such one.
std::optional<size_t> differing_axis(const Type& a, const Type& b) {
  std::optional<size_t> found;
  if (a.dims.size() != b.dims.size()) return std::nullopt;
  for (size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i] == b.dims[i]) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

/// Says along which axis the two could be joined.
void add_axis_cure(diagnostics::Diagnostic& diagnostic, const Type& a, const Type& b, const ExprView& dim,
                   CallSite& site) {
  const auto meant = differing_axis(a, b);
  const std::string written = site.scope.cx.source_text(site.span);
  if (!meant) return;
  const std::string axis = std::to_string(*meant);
  if (library::find(library::Space::Values, site.name) == library::Id::Stack) {
    diagnostic.note("`stack` makes a new axis of tensors of one shape")
        .help("along the axis that they have, it is `cat(…, {})`", axis);
  } else if (!dim.span.is_empty()) {
    diagnostic.help("they differ in axis {} alone: join them along it", axis).fix(dim.span, axis);
    diagnostic.span = dim.span;
  } else if (written.ends_with(")")) {
    const Span end = {site.span.source, site.span.end - 1, site.span.end - 1};
    diagnostic
        .help("they differ in axis {} alone, and without a second argument it is axis 0: `cat(…, {})`", axis, axis)
        .fix(end, ", " + axis);
  }
}

/// Of one that lacks the axis along which they are joined, `age` beside `[B, 8]`.
void add_rank_cure(diagnostics::Diagnostic& diagnostic, const ExprView& one, const ExprView& other, size_t axis,
                   const Context& cx) {
  const bool is_first_longer = one.type.dims.size() > other.type.dims.size();
  const ExprView &longer = is_first_longer ? one : other, &shorter = is_first_longer ? other : one;
  std::vector<Dim> left = longer.type.dims;
  if (left.size() != shorter.type.dims.size() + 1 || axis >= left.size()) return;
  left.erase(left.begin() + long(axis));
  if (left == shorter.type.dims)
    diagnostic.help("`{}.unsqueeze({})` has the axis along which they are joined", cx.source_text(shorter.span), axis);
}

/// `cat(a, b, 1)`: reports tensors that stand in no list.
bool report_unlisted(CallSite& site) {
  size_t count = 0;
  for (Given& given : site.given) {
    if (given.name || given.value == nullptr || given.value->get<ast::List>() != nullptr) break;
    if (!given.checked) given.checked = check_expr(*given.value, site.scope);
    if (!given.checked->type.is_tensor()) break;
    ++count;
  }
  if (count < 2) return false;
  const Span first = site.given[0].span, last = site.given[count - 1].span;
  Context& cx = site.scope.cx;
  cx.report(diag::wrong_argument(source::join(first, last), "`" + site.name + "` takes its tensors as one list")
                .help("`[{}]`", cx.source_text(source::join(first, last)))
                .fix({first.source, first.begin, first.begin}, "[")
                .fix({last.source, last.end, last.end}, "]"));
  return true;
}

/// `which` of a list, `b`, may not be joined with the first, `a`.
struct Joined {
  const ExprView& list;
  size_t which = 0;
};

/// `stack([1.0, y])`: the number as a tensor of the shape of the others.
void help_number_among(diagnostics::Diagnostic& diagnostic, const Type& a, const Type& b, const Joined& joined,
                       const Context& cx) {
  const auto* list = joined.list.get<node::List>();
  const bool is_first = a.dims.empty();
  if (list == nullptr || joined.which >= list->elements.size() || is_first == b.dims.empty()) return;
  std::string code = "full(";
  for (const Dim& dim : (is_first ? b : a).dims) {
    const std::string size = cx.text(dim.size);
    if (dim.group != 0 || size.find('?') != std::string::npos) return;
    code += size + ", ";
  }
  const std::string number = cx.source_text(cx.at(list->elements[is_first ? 0 : joined.which]).span);
  diagnostic.help("the number as a tensor of that shape: `{}{})`", code, number);
}

bool equal_but(const Type& a, const Type& b, std::optional<size_t> axis, const ExprView& dim, CallSite& site,
               const Joined& joined) {
  Context& cx = site.scope.cx;
  bool is_equal = a.dims.size() == b.dims.size();
  for (size_t i = 0; is_equal && i < a.dims.size(); ++i) {
    if (axis == i) continue;
    is_equal = a.dims[i].group == b.dims[i].group &&
               (a.dims[i].group != 0 || require_equal(a.dims[i].size, b.dims[i].size, site.span, site.scope, true));
  }
  if (!is_equal) {
    diagnostics::Diagnostic diagnostic =
        diag::dims_differ(site.span, "`" + site.name + "` cannot join " + cx.text(a) + " and " + cx.text(b));
    add_axis_cure(diagnostic, a, b, dim, site);
    if (!axis) help_number_among(diagnostic, a, b, joined, cx);
    const auto* list = joined.list.get<node::List>();
    if (list != nullptr && axis && joined.which < list->elements.size())
      add_rank_cure(diagnostic, cx.at(list->elements[0]), cx.at(list->elements[joined.which]), *axis, cx);
    for (const size_t i : {size_t(0), joined.which}) {
      if (list != nullptr && i < list->elements.size()) label_layer(diagnostic, cx.at(list->elements[i]), site.scope);
    }
    cx.report(std::move(diagnostic));
  }
  return is_equal;
}

}  // namespace

Expr rule_cat(const FnInfo& op, CallSite& site) {
  if (report_unlisted(site)) return error_at(site.span);
  auto args = plain_arguments(op, site);
  if (!args) return error_at(site.span);
  const auto types = tensors_of((*args)[0], site);
  if (!types) return error_at(site.span);
  Type result = (*types)[0];
  const auto axis = axis_of((*args)[1], result, site);
  if (!axis) return error_at(site.span);
  for (size_t i = 1; i < types->size(); ++i) {
    if (!equal_but(result, (*types)[i], axis, (*args)[1], site, {(*args)[0], i})) return error_at(site.span);
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
  if (report_unlisted(site)) return error_at(site.span);
  // Host numbers become 0-d tensors: `stack([row.a, row.b])` is float[2].
  if (!site.given.empty() && (site.given[0].checked || site.given[0].value != nullptr)) {
    Expr list = check_given(site.given[0], site.scope);
    if (list.type.is_error()) return error_at(site.span);
    const bool is_host = list.type.kind == Kind::List && !list.type.fields.empty() &&
                         list.type.fields[0].type.is_host_number() &&
                         std::ranges::all_of(list.type.fields, [](const TypeField& field) {
                           return field.type.is_host_number() || (field.type.is_tensor() && field.type.dims.empty());
                         });
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
    if (!equal_but(result, (*types)[i], std::nullopt, (*args)[1], site, {(*args)[0], i})) return error_at(site.span);
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
    requirement.text = cx.operand(size) + " % " + std::to_string(*count) + " == 0";
    requirement.origin = site.span;
    require(std::move(requirement), site.span, site.scope);
  }
  part.dims[*axis].size = cx.program.atoms.exact(size, *count);
  Type list = Type::of(Kind::List);
  list.fields.assign(size_t(*count), TypeField{"", part});
  list.value = Polynomial(*count);
  return typed_call(op, std::move(list), site, std::move(*args));
}

namespace {

/// `x.split(2)`, one size for all parts: reports it with the list, or the call, that says the same.
bool report_one_size(CallSite& site) {
  if (site.given.size() < 2 || (site.given[1].name && site.given[1].name->text != "sizes")) return false;
  Context& cx = site.scope.cx;
  for (Given& given : site.given) {
    if (!given.checked) given.checked = check_given(given, site.scope);
    if (given.checked->type.is_error()) return false;
  }
  const Expr &tensor = *site.given[0].checked, &size = *site.given[1].checked;
  if (!tensor.type.is_tensor() || size.type.kind != Kind::Int) return false;
  const auto dim = site.given.size() > 2 ? site.given[2].checked->type.value : std::optional(Polynomial(0));
  const auto axis = dim ? dim->constant() : std::nullopt;
  const auto rank = int64_t(tensor.type.dims.size());
  const int64_t place = axis && *axis < 0 ? *axis + rank : axis.value_or(-1);
  diagnostics::Diagnostic diagnostic =
      diag::wrong_argument(site.given[1].span, "`split` takes a list with the size of each part, not one size");
  const auto whole = place >= 0 && place < rank ? tensor.type.dims[size_t(place)].size.constant() : std::nullopt;
  const auto part = size.type.value ? size.type.value->constant() : std::nullopt;
  constexpr int64_t kMostShown = 8;
  if (whole && part && *part > 0 && *whole / *part < kMostShown) {
    std::string list;
    for (int64_t rest = *whole; rest > 0; rest -= *part)
      list += (list.empty() ? "" : ", ") + std::to_string(std::min(rest, *part));
    diagnostic.help("`[{}]`", list).fix(site.given[1].span, "[" + list + "]");
  } else {
    diagnostic.help("`chunk(n, dim)` cuts into `n` equal parts; `split([a, b], dim)` says the size of each");
  }
  cx.report(std::move(diagnostic));
  return true;
}

}  // namespace

Expr rule_split(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  if (report_one_size(site)) return error_at(site.span);
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
