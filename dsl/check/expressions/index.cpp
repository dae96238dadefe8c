#include <algorithm>

#include "dsl/check/expressions/expressions.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

namespace {

/// Reports an index or bound that lies outside of a size that is known.
bool check_bounds(const std::optional<Polynomial>& index, const Polynomial& size, bool is_bound, Span span,
                  Scope& scope) {
  if (!index || !index->constant() || !size.constant()) return true;
  const int64_t value = *index->constant(), limit = *size.constant();
  const int64_t last = is_bound ? limit : limit - 1;
  if (value >= -limit && value <= last) return true;
  scope.cx.report(diag::out_of_range(span, (is_bound ? "the bound " : "the index ") + std::to_string(value) +
                                               " lies outside of a dim of size " + std::to_string(limit)));
  return false;
}

struct Slicer {
  Scope& scope;
  Span span;
  Expr value;
  int axis = 0;
  bool has_error = false;

  Type& type() { return value.type; }

  void apply(library::Id op, std::vector<Expr> args, std::vector<Dim> dims) {
    Type type = Type::tensor(value.type.element, std::move(dims));
    args.insert(args.begin(), std::move(value));
    value = op_expr(op, std::move(type), span, scope.cx.keep(std::move(args)));
  }

  void select(Expr index) {
    if (!check_bounds(index.type.value, type().dims[size_t(axis)].size, false, index.span, scope)) has_error = true;
    std::vector<Dim> dims = type().dims;
    dims.erase(dims.begin() + axis);
    apply(library::Id::Select, {int_const(axis, span), std::move(index)}, std::move(dims));
  }

  void by_tensor(Expr index) {
    std::vector<Dim> dims = type().dims;
    if (index.type.element == Element::Bool) {
      dims[size_t(axis)].size = scope.cx.program.atoms.unknown();
      dims.erase(dims.begin() + axis + 1, dims.begin() + axis + std::max<long>(1, long(index.type.dims.size())));
    } else {
      dims.erase(dims.begin() + axis);
      dims.insert(dims.begin() + axis, index.type.dims.begin(), index.type.dims.end());
    }
    const int step = index.type.element == Element::Bool ? 1 : int(index.type.dims.size());
    apply(library::Id::IndexTensor, {int_const(axis, span), std::move(index)}, std::move(dims));
    axis += step;
  }

  void range(const ast::IndexItem& item) {
    if (!item.first && !item.second) {
      ++axis;
      return;
    }
    const Polynomial size = type().dims[size_t(axis)].size;
    const auto bound = [&](const std::optional<ast::Box<ast::Expr>>& end) -> std::optional<Expr> {
      if (!end) return std::nullopt;
      Expr checked = check_as(**end, Type::of(Kind::Int), scope, "a bound");
      if (checked.type.is_error()) {
        has_error = true;
      } else if (!check_bounds(checked.type.value, size, true, checked.span, scope)) {
        has_error = true;
      }
      return checked;
    };
    std::optional<Expr> first = bound(item.first);
    std::optional<Expr> second = bound(item.second);
    if (has_error) return;
    // A negative bound counts from the end.
    const auto place = [&](const std::optional<Expr>& end, const Polynomial& otherwise) -> std::optional<Polynomial> {
      if (!end) return otherwise;
      if (!end->type.value) return std::nullopt;
      const Polynomial& at = *end->type.value;
      const auto& terms = at.terms();
      const bool is_negative =
          !terms.empty() && std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.second < 0; });
      return is_negative ? size + at : at;
    };
    const auto from = place(first, 0);
    const auto to = place(second, size);
    std::vector<Dim> dims = type().dims;
    AtomTable& atoms = scope.cx.program.atoms;
    const bool is_known =
        from && to && !atoms.mentions_unknown(size) && !atoms.mentions_unknown(*from) && !atoms.mentions_unknown(*to);
    if (is_known) {
      require_within(*from, *to, size);
      dims[size_t(axis)].size = *to - *from;
    } else {
      dims[size_t(axis)].size = atoms.unknown();
    }
    Expr start = first ? *first : none_const(span);
    Expr end = second ? *second : none_const(span);
    apply(library::Id::Slice, {int_const(axis, span), std::move(start), std::move(end)}, std::move(dims));
    ++axis;
  }

  /// 0 <= from <= to <= size.
  void require_within(const Polynomial& from, const Polynomial& to, const Polynomial& size) {
    const auto at_most = [&](const Polynomial& left, const Polynomial& right) {
      Requirement requirement;
      requirement.kind = Requirement::Kind::AtMost;
      requirement.left = left;
      requirement.right = right;
      requirement.text = scope.cx.text(left) + " <= " + scope.cx.text(right);
      requirement.origin = span;
      requirement.is_where = true;
      const Polynomial difference = right - left;
      const bool is_sum_of_sizes = std::all_of(difference.terms().begin(), difference.terms().end(),
                                               [](const auto& term) { return term.second >= 0; });
      if (is_sum_of_sizes) return;  // Sizes are not negative.
      require(std::move(requirement), span, scope);
    };
    at_most(from, to);
    at_most(to, size);
  }
};

}  // namespace

std::vector<std::pair<AtomId, Polynomial>> list_element_arguments(const Type& list, const Polynomial& index) {
  if (list.kind != Kind::List || list.arguments.empty()) return {};
  return {{list.arguments[0].first, list.arguments[0].second + index}};
}

namespace {

/// Whether values of this type can be chosen among at run time: what is built once or is no value has one place.
bool is_chosen(const Type& type) {
  return is_made_of(type, {Kind::Int, Kind::Float, Kind::Bool, Kind::Str, Kind::Path, Kind::OneOf, Kind::Tensor,
                           Kind::Option, Kind::Record, Kind::Tuple, Kind::List});
}

/// A list that is written element by element as one of elements of the type that they have in common.
std::optional<Expr> with_one_type(const Expr& list, Context& cx) {
  if (list.type.kind != Kind::List || list.type.fields.empty() || !is_chosen(list.type)) return std::nullopt;
  std::optional<Type> common = list.type.fields[0].type;
  for (const TypeField& field : list.type.fields) {
    if (common) common = merge(*common, field.type, cx);
  }
  if (!common) return std::nullopt;
  Type type = Type::of(Kind::List);
  type.uniform = true;
  type.value = list.type.value;
  type.fields.push_back({"", *common});
  return Expr{std::move(type), list.span, node::Convert{cx.keep(list)}};
}

diagnostics::Diagnostic no_choice(Span index, const Type& list, const Context& cx) {
  const bool is_tuple = list.kind == Kind::Tuple;
  diagnostics::Diagnostic diagnostic =
      diag::not_a_constant(index, is_tuple ? "the index of a tuple" : "the index of a list whose elements differ");
  diagnostic.note("the {} is {}", is_tuple ? "tuple" : "list", cx.text(list));
  if (!is_tuple && std::any_of(list.fields.begin(), list.fields.end(),
                               [](const TypeField& field) { return field.type.kind == Kind::Block; }))
    diagnostic.help("blocks of one type are made by a comprehension: `[Linear(4, 4) for i in 0 .. 3]`");
  return diagnostic;
}

bool lies_in_list(int64_t index, int64_t length, Span span, Scope& scope) {
  if (index >= -length && index < length) return true;
  scope.cx.report(diag::out_of_range(
      span, "the index " + std::to_string(index) + " lies outside of a list of length " + std::to_string(length)));
  return false;
}

Expr index_list(Expr base, const ast::Index& index, Span span, Scope& scope) {
  if (index.items.size() != 1 || index.items[0].kind != ast::IndexItem::Kind::Expr) {
    scope.cx.report(diag::wrong_type(span, "a list takes one index"));
    return error_at(span);
  }
  Expr at = check_as(**index.items[0].first, Type::of(Kind::Int), scope, "an index");
  if (at.type.is_error()) return error_at(span);
  const bool is_constant = at.type.value && at.type.value->constant();
  if (!is_constant && !base.type.uniform) {
    if (auto same = with_one_type(base, scope.cx)) base = std::move(*same);
  }
  Type element = Type::error();
  if (base.type.uniform && !base.type.fields.empty()) {
    const auto length = base.type.value ? base.type.value->constant() : std::nullopt;
    if (is_constant && length && !lies_in_list(*at.type.value->constant(), *length, at.span, scope))
      return error_at(span);
    const Polynomial index = at.type.value ? *at.type.value : scope.cx.program.atoms.unknown();
    element = instantiate(base.type.fields[0].type, list_element_arguments(base.type, index), scope.cx);
  } else {
    const auto constant = at.type.value ? at.type.value->constant() : std::nullopt;
    const int64_t size = int64_t(base.type.fields.size());
    if (!constant) {
      scope.cx.report(no_choice(at.span, base.type, scope.cx));
      return error_at(span);
    }
    if (!lies_in_list(*constant, size, at.span, scope)) return error_at(span);
    const int64_t place = *constant < 0 ? *constant + size : *constant;
    element = base.type.fields[size_t(place)].type;
    if (base.type.kind == Kind::Tuple)
      return {element, span, node::TupleElement{scope.cx.keep(std::move(base)), place}};
    at = int_const(place, at.span);
  }
  return {element, span, node::ListElement{scope.cx.keep(std::move(base)), scope.cx.keep(std::move(at))}};
}

}  // namespace

Expr check_index(const ast::Expr& expr, const ast::Index& index, Scope& scope) {
  Expr base = check_expr(*index.base, scope);
  if (base.type.is_error()) return error_at(expr.span);
  if (base.type.kind == Kind::List || base.type.kind == Kind::Tuple)
    return index_list(std::move(base), index, expr.span, scope);
  if (base.type.kind == Kind::Str || base.type.kind == Kind::Path)
    return slice_text(std::move(base), index, expr.span, scope);
  if (!base.type.is_tensor()) {
    scope.cx.report(diag::wrong_type(expr.span, scope.cx.text(base.type) + " has no elements to index"));
    return error_at(expr.span);
  }
  size_t used = 0;
  for (const ast::IndexItem& item : index.items) {
    if (item.kind == ast::IndexItem::Kind::Expr || item.kind == ast::IndexItem::Kind::Range) ++used;
  }
  if (used > base.type.dims.size()) {
    scope.cx.report(diag::wrong_rank(expr.span, scope.cx.text(base.type) + " has " +
                                                    std::to_string(base.type.dims.size()) + " dims, but " +
                                                    std::to_string(used) + " are indexed"));
    return error_at(expr.span);
  }
  const size_t skipped = base.type.dims.size() - used;
  Slicer slicer{scope, expr.span, std::move(base)};
  bool is_lost = false;
  for (const ast::IndexItem& item : index.items) {
    // Behind a mistake the axes are not known, but names are.
    if (is_lost || item.kind == ast::IndexItem::Kind::Error) {
      is_lost = true;
      if (item.first) check_expr(**item.first, scope);
      if (item.second) check_expr(**item.second, scope);
      continue;
    }
    switch (item.kind) {
      case ast::IndexItem::Kind::Error: break;
      case ast::IndexItem::Kind::Ellipsis: slicer.axis += int(skipped); break;
      case ast::IndexItem::Kind::New: {
        std::vector<Dim> dims = slicer.type().dims;
        dims.insert(dims.begin() + slicer.axis, Dim{.size = 1, .group = 0});
        slicer.apply(library::Id::Unsqueeze, {int_const(slicer.axis, expr.span)}, std::move(dims));
        ++slicer.axis;
        break;
      }
      case ast::IndexItem::Kind::Range: slicer.range(item); break;
      case ast::IndexItem::Kind::Expr: {
        Expr at = check_expr(**item.first, scope);
        if (at.type.is_error()) {
          is_lost = true;
        } else if (at.type.kind == Kind::Int) {
          slicer.select(std::move(at));
        } else if (at.type.is_tensor() && !is_floating(at.type.element)) {
          slicer.by_tensor(std::move(at));
        } else {
          scope.cx.report(diag::wrong_type(
              at.span, "an index is an int, or a tensor of i64 or bool, not " + scope.cx.text(at.type)));
          is_lost = true;
        }
        break;
      }
    }
    is_lost = is_lost || slicer.has_error;
  }
  if (is_lost) return error_at(expr.span);
  return std::move(slicer.value);
}

}  // namespace ltr::check
