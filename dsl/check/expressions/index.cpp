#include "dsl/check/expressions/index.h"

#include <algorithm>
#include <utility>

#include "dsl/check/expressions/rounds.h"
#include "dsl/check/library/library_call.h"

namespace ltr::check {

namespace {

struct Slicer {
  Scope& scope;
  Span span;
  Expr value;
  int axis = 0;
  bool has_error = false;
  std::optional<Span> chosen_at;  ///< the index that is a tensor

  Type& type() { return value.type; }

  void apply(library::Id op, std::vector<Expr> args, std::vector<Dim> dims) {
    Type type = Type::tensor(value.type.element, std::move(dims));
    args.insert(args.begin(), std::move(value));
    value = op_expr(op, std::move(type), span, scope.cx.keep(std::move(args)));
  }

  /// The axis as the run counts it: behind a `...`, whose dims differ between calls, from the end.
  Expr place(bool is_new = false) {
    const std::vector<Dim>& dims = type().dims;
    const bool is_behind =
        std::any_of(dims.begin(), dims.begin() + axis, [](const Dim& dim) { return dim.group != 0; });
    return int_const(is_behind ? axis - int64_t(dims.size()) - (is_new ? 1 : 0) : axis, span);
  }

  /// Whether an index may take one of the dims at `axis`: not where `...` of the type stands for any number of them.
  bool is_one_dim(Span place) {
    if (type().dims[size_t(axis)].group == 0) return true;
    scope.cx.report(diag::wrong_rank(place, "the `...` of " + scope.cx.text(type()) +
                                                " stands for any number of dims, also for none: no index takes one")
                        .help("the dim that is indexed has a name: `float[N, ...]`, `float[..., N]`"));
    has_error = true;
    return false;
  }

  void select(Expr index) {
    if (!is_one_dim(index.span)) return;
    if (!lies_within(index.type.value, type().dims[size_t(axis)].size, false, "a dim of size ", index.span, scope))
      has_error = true;
    std::vector<Dim> dims = type().dims;
    dims.erase(dims.begin() + axis);
    apply(library::Id::Select, {place(), std::move(index)}, std::move(dims));
  }

  void by_tensor(Expr index) {
    if (chosen_at) {
      scope.cx.report(diag::wrong_type(index.span, "one index of a tensor may be a tensor, and this is a second one")
                          .label(*chosen_at, "the first")
                          .help("`x.gather(1, i.unsqueeze(1)).squeeze(1)` takes one element of each row; "
                                "`x[i][.., j]` takes all rows `i` of all columns `j`"));
      has_error = true;
      return;
    }
    if (!is_one_dim(index.span)) return;
    chosen_at = index.span;
    std::vector<Dim> dims = type().dims;
    if (index.type.element == Element::Bool) {
      dims[size_t(axis)].size = scope.cx.program.atoms.unknown();
      dims.erase(dims.begin() + axis + 1, dims.begin() + axis + std::max<long>(1, long(index.type.dims.size())));
    } else {
      dims.erase(dims.begin() + axis);
      dims.insert(dims.begin() + axis, index.type.dims.begin(), index.type.dims.end());
    }
    const int step = index.type.element == Element::Bool ? 1 : int(index.type.dims.size());
    apply(library::Id::IndexTensor, {place(), std::move(index)}, std::move(dims));
    axis += step;
  }

  void range(const ast::IndexItem& item) {
    if (!is_one_dim(item.span)) return;
    if (!item.first && !item.second) {
      ++axis;
      return;
    }
    const Polynomial size = type().dims[size_t(axis)].size;
    const Bounds bounds = read_bounds(item, size, "a dim of size ", scope);
    if (bounds.has_error) {
      has_error = true;
      return;
    }
    std::vector<Dim> dims = type().dims;
    AtomTable& atoms = scope.cx.program.atoms;
    if (bounds.are_known && !atoms.mentions_unknown(size)) {
      require_within(bounds, size, span, scope);
      const Polynomial length = *bounds.to - *bounds.from;
      has_error = has_error || length.constant().value_or(0) < 0;
      dims[size_t(axis)].size = length;
    } else {
      dims[size_t(axis)].size = atoms.unknown();
    }
    apply(library::Id::Slice, {place(), bounds.first, bounds.end}, std::move(dims));
    ++axis;
  }
};

/// `x.max(1)[0]`: elsewhere these are the values, here their first row.
void warn_of_values(const Expr& base, const ast::Index& index, Scope& scope) {
  const auto* call = base.get<node::Op>();
  if (call == nullptr || (call->op != library::Id::Max && call->op != library::Id::Min) || call->args.size() < 2)
    return;
  const std::string name(library::info(call->op).name);
  if (scope.cx.at(call->args[1]).is<node::NoneConst>() || index.items.size() != 1 || !index.items[0].first) return;
  const auto* place = (*index.items[0].first)->get<ast::IntLiteral>();
  if (place == nullptr || place->value != 0) return;
  scope.cx.report(diag::values_alone(source::join(base.span, (*index.items[0].first)->span), name)
                      .help("leave `[0]` out; the places are given by `arg{}`", name));
}

}  // namespace

namespace {

void require_order(const Polynomial& left, Requirement::Kind kind, const Polynomial& right, Span span, Scope& scope) {
  Requirement requirement;
  requirement.kind = kind;
  requirement.left = left;
  requirement.right = right;
  const char* sign = kind == Requirement::Kind::Less ? " < " : " <= ";
  requirement.text = scope.cx.text(left) + sign + scope.cx.text(right);
  requirement.origin = span;
  requirement.is_where = true;
  require(std::move(requirement), span, scope);
}

/// Requires that an index lies below a size which the run is given.
void require_above(const Polynomial& size, const Polynomial& index, Span span, Scope& scope) {
  const bool is_given =
      !(index - size).constant() && rests_on_params(index, scope.cx) && rests_on_params(size, scope.cx);
  if (!is_given || scope.may_not_happen || scope.cx.graph.modules[scope.module].is_library) return;
  require_order(index, Requirement::Kind::Less, size, span, scope);
}

}  // namespace

bool lies_within(const std::optional<Polynomial>& index, const Polynomial& size, bool is_bound, const char* of,
                 Span span, Scope& scope) {
  if (!index) return true;
  const auto largest = extreme_of(*index, true, scope), least = extreme_of(*index, false, scope);
  if (!largest || !least) return true;
  // `n` of `n` elements lies outside whatever `n` is.
  const std::optional<int64_t> beyond = (largest->index - size).constant();
  const std::optional<int64_t> before = (least->index + size).constant();
  const bool is_beyond = beyond && *beyond >= (is_bound ? 1 : 0);
  if (!is_beyond && !(before && *before < 0)) {
    if (!is_bound) require_above(size, largest->index, span, scope);
    return true;
  }
  if (is_told(*index, scope)) return false;
  const Extreme& outside = is_beyond ? *largest : *least;
  diagnostics::Diagnostic diagnostic =
      diag::out_of_range(span, (is_bound ? "the bound " : "the index ") + scope.cx.text(outside.index) +
                                   " lies outside of " + of + scope.cx.text(size));
  if (!outside.when.empty()) diagnostic.note("where {}", outside.when);
  scope.cx.report(std::move(diagnostic));
  return false;
}

Bounds read_bounds(const ast::IndexItem& item, const Polynomial& size, const char* of, Scope& scope) {
  Bounds bounds;
  const auto bound = [&](const std::optional<ast::Box<ast::Expr>>& end) {
    if (!end) return none_const(item.span);
    Expr checked = check_as(**end, Type::of(Kind::Int), scope, "a bound");
    bounds.has_error = bounds.has_error || checked.type.is_error() ||
                       !lies_within(checked.type.value, size, true, of, checked.span, scope);
    return checked;
  };
  bounds.first = bound(item.first);
  bounds.end = bound(item.second);
  if (bounds.has_error) return bounds;
  // A negative bound counts from the end.
  const auto place = [&](const Expr& end, const Polynomial& otherwise) -> std::optional<Polynomial> {
    if (end.is<node::NoneConst>()) return otherwise;
    if (!end.type.value) return std::nullopt;
    const auto& terms = end.type.value->terms();
    const bool is_negative =
        !terms.empty() && std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.second < 0; });
    return is_negative ? size + *end.type.value : *end.type.value;
  };
  const AtomTable& atoms = scope.cx.program.atoms;
  bounds.from = place(bounds.first, 0);
  bounds.to = place(bounds.end, size);
  bounds.are_known =
      bounds.from && bounds.to && !atoms.mentions_unknown(*bounds.from) && !atoms.mentions_unknown(*bounds.to);
  return bounds;
}

void require_within(const Bounds& bounds, const Polynomial& size, Span span, Scope& scope) {
  const auto at_most = [&](const Polynomial& left, const Polynomial& right) {
    const Polynomial difference = right - left;
    const bool is_sum_of_sizes = std::all_of(difference.terms().begin(), difference.terms().end(),
                                             [](const auto& term) { return term.second >= 0; });
    if (is_sum_of_sizes) return;  // Sizes are not negative.
    require_order(left, Requirement::Kind::AtMost, right, span, scope);
  };
  at_most(*bounds.from, *bounds.to);
  at_most(*bounds.to, size);
}

Expr check_index(const ast::Expr& expr, const ast::Index& index, Scope& scope) {
  Expr base = check_expr(*index.base, scope);
  if (base.type.is_error()) {
    for (const ast::IndexItem& item : index.items) {
      if (item.first) check_expr(**item.first, scope);
      if (item.second) check_expr(**item.second, scope);
    }
    return error_at(expr.span);
  }
  if (base.type.kind == Kind::List || base.type.kind == Kind::Tuple)
    return index_list(std::move(base), index, expr.span, scope);
  if (base.type.kind == Kind::Str || base.type.kind == Kind::Path)
    return slice_text(std::move(base), index, expr.span, scope);
  if (!base.type.is_tensor()) {
    diagnostics::Diagnostic diagnostic =
        diag::wrong_type(expr.span, scope.cx.text(base.type) + " has no elements to index");
    const std::string text = scope.cx.source_text(base.span);
    if (base.type.kind == Kind::Vocabulary) {
      diagnostic.help("`{}.encode(list)` are the numbers of a list of words, `{}.id(\"<unk>\")` is that of one", text,
                      text);
    } else if (base.type.kind == Kind::Tokenizer) {
      diagnostic.help("`{}.encode(text)` are the numbers of a text's tokens, `{}.id(\"<unk>\")` is that of one", text,
                      text);
    } else if (base.type.kind == Kind::Record) {
      diagnostic.help("a field is read by its name: `{}.NAME`", text);
    } else if (base.type.kind == Kind::Function || base.type.kind == Kind::Block) {
      diagnostic.help("it is called with round brackets: `{}(…)`", text);
    }
    scope.cx.report(std::move(diagnostic));
    return error_at(expr.span);
  }
  size_t used = 0;
  const ast::IndexItem* dots = nullptr;
  for (const ast::IndexItem& item : index.items) {
    if (item.kind == ast::IndexItem::Kind::Ellipsis && std::exchange(dots, &item) != nullptr) {
      scope.cx.report(
          diag::wrong_rank(item.span, "an index has one `...`: how many dims each stands for is not known"));
      return error_at(expr.span);
    }
    if (item.kind == ast::IndexItem::Kind::Expr || item.kind == ast::IndexItem::Kind::Range) ++used;
  }
  if (used > base.type.dims.size()) {
    scope.cx.report(diag::wrong_rank(expr.span, scope.cx.text(base.type) + " has " +
                                                    std::to_string(base.type.dims.size()) + " dims, but " +
                                                    std::to_string(used) + " are indexed"));
    return error_at(expr.span);
  }
  warn_of_values(base, index, scope);
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
        slicer.apply(library::Id::Unsqueeze, {slicer.place(true)}, std::move(dims));
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
          diagnostics::Diagnostic diagnostic = diag::wrong_type(
              at.span, "an index is an int, or a tensor of i64 or bool, not " + scope.cx.text(at.type));
          if (at.type.kind == Kind::None) diagnostic.help("an axis of one is added by `new`").fix(at.span, "new");
          if (at.type.kind == Kind::List) add_cure(diagnostic, at, Type::tensor(Element::I64, {}), scope.cx);
          scope.cx.report(std::move(diagnostic));
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
