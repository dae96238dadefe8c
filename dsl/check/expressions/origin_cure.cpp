// Two tensors that do not go together for how one of them was made: counted for the wrong axis, or the wrong axis taken away.

#include <algorithm>
#include <functional>

#include "dsl/check/expressions/operands.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/scope/aside.h"

namespace ltr::check {

namespace {

/// What a local was given above, read again, and no trace of it left; nothing if that cannot be told.
std::optional<Expr> value_of_local(const ExprView& local, Scope& scope) {
  Context& cx = scope.cx;
  const Assigned assigned = find_assigned(local, scope);
  if (assigned.value == nullptr || assigned.part || cx.is_trying) return std::nullopt;
  std::vector<Requirement>* requirements = scope.requirements;
  const size_t required = requirements != nullptr ? requirements->size() : 0;
  const size_t obliged = cx.program.obligations.size();
  diagnostics::Sink unheard;
  cx.is_trying = true;
  std::optional<Expr> value;
  {
    const Aside aside(cx, unheard);
    value = check_expr(*assigned.value, scope);
  }
  cx.is_trying = false;
  if (requirements != nullptr) requirements->erase(requirements->begin() + long(required), requirements->end());
  cx.program.obligations.erase(cx.program.obligations.begin() + long(obliged), cx.program.obligations.end());
  // A name that it uses may have another value by now.
  const bool is_same = value->type.is_tensor() && value->type.dims == local.type.dims;
  return is_same && !unheard.has_errors() ? value : std::nullopt;
}

/// Whether `is_it` is true of the value or of what it is computed of, also where a local holds that.
bool find_maker(const ExprView& value, Scope& scope, const std::function<bool(const ExprView&)>& is_it, int depth = 0) {
  constexpr int kDeepest = 8;
  if (depth > kDeepest || !value.type.is_tensor()) return false;
  if (is_it(value)) return true;
  if (value.is<node::Local>()) {
    const std::optional<Expr> given = value_of_local(value, scope);
    return given && find_maker(*given, scope, is_it, depth + 1);
  }
  const auto* op = value.get<node::Op>();
  const auto* method = value.get<node::CallMethod>();
  if (op == nullptr && method == nullptr) return false;
  // What is found below may be read anew, and more stored.
  const ExprIds parts = op != nullptr ? op->args : method->args;
  return std::ranges::any_of(parts,
                             [&](ExprId part) { return find_maker(scope.cx.at(part), scope, is_it, depth + 1); });
}

/// The one place, counted from the right, where the dims differ; nothing if there are several.
std::optional<size_t> only_difference(const std::vector<Dim>& one, const std::vector<Dim>& other) {
  std::optional<size_t> found;
  for (size_t i = 1; i <= std::min(one.size(), other.size()); ++i) {
    if (one[one.size() - i] == other[other.size() - i]) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

/// `tok(x) + pos(arange(T))` of `S` tokens.
bool help_count(diagnostics::Diagnostic& diagnostic, const ExprView& counted, const ExprView& other, Scope& scope) {
  const auto place = only_difference(counted.type.dims, other.type.dims);
  if (!place) return false;
  const Dim have = counted.type.dims[counted.type.dims.size() - *place];
  const Dim wanted = other.type.dims[other.type.dims.size() - *place];
  const std::string size = scope.cx.text(wanted.size);
  // Two rows of numbers are compared each with each.
  if (counted.type.dims.size() == 1 && other.type.dims.size() == 1) return false;
  if (have.group != 0 || wanted.group != 0 || wanted.size.is_one() || size.find('?') != std::string::npos) return false;
  const bool is_counted = find_maker(counted, scope, [&](const ExprView& part) {
    const auto* op = part.get<node::Op>();
    return op != nullptr && op->op == library::Id::Arange && part.type.dims == std::vector<Dim>{have};
  });
  if (is_counted) diagnostic.help("`arange({})`: as many as the other has", size);
  return is_counted;
}

/// The axis that is written there; nothing of several.
std::optional<size_t> written_axis(const ExprView& axis, size_t rank) {
  const auto* number = axis.get<node::IntConst>();
  if (number == nullptr) return std::nullopt;
  const int64_t from_left = number->value < 0 ? number->value + int64_t(rank) : number->value;
  return from_left >= 0 && from_left < int64_t(rank) ? std::optional(size_t(from_left)) : std::nullopt;
}

std::vector<Dim> without(std::vector<Dim> dims, size_t axis) {
  dims.erase(dims.begin() + long(axis));
  return dims;
}

/// `logits.argmax(2) == mask`, where axis 1 are the classes.
bool help_axis(diagnostics::Diagnostic& diagnostic, const ExprView& reduced, const ExprView& other, Scope& scope) {
  Context& cx = scope.cx;
  const std::vector<Dim> have = reduced.type.dims, wanted = other.type.dims;
  if (have.size() != wanted.size()) return false;
  return find_maker(reduced, scope, [&](const ExprView& part) {
    const auto* op = part.get<node::Op>();
    if (op == nullptr || part.type.dims != have || op->args.size() < 2) return false;
    const std::string name(library::info(op->op).name);
    if (!is_reduction(name, scope)) return false;
    const std::vector<Dim> all = cx.at(op->args[0]).type.dims;
    for (size_t i = 1; i < op->args.size(); ++i) {
      const auto written = written_axis(cx.at(op->args[i]), all.size());
      if (!written || all.size() != have.size() + 1 || without(all, *written) != have) continue;
      for (size_t axis = 0; axis < all.size(); ++axis) {
        if (without(all, axis) != wanted) continue;
        const bool is_function = cx.source_text(part.span).starts_with(name + "(");
        if (part.span != reduced.span) diagnostic.label(part.span, "takes `{}` away", cx.text(all[*written].size));
        diagnostic.help("`{}({}{})` gives {}", name, is_function ? "…, " : "", axis,
                        cx.text(Type::tensor(part.type.element, wanted)));
        return true;
      }
      return false;
    }
    return false;
  });
}

/// Where an op takes one axis of what it is given away: which.
std::optional<size_t> taken_axis(const node::Op& op, const std::vector<Dim>& left, Scope& scope) {
  const bool is_index = op.op == library::Id::Select;
  if (op.args.empty() || (!is_index && !is_reduction(std::string(library::info(op.op).name), scope)))
    return std::nullopt;
  const Type& whole = scope.cx.at(op.args[0]).type;
  if (!whole.is_tensor() || whole.dims.size() != left.size() + 1) return std::nullopt;
  for (size_t i = 1; i < op.args.size(); ++i) {
    const auto written = written_axis(scope.cx.at(op.args[i]), whole.dims.size());
    if (written && without(whole.dims, *written) == left) return written;
  }
  return std::nullopt;
}

}  // namespace

void help_one_of_each(diagnostics::Diagnostic& diagnostic, const ExprView& value, Scope& scope) {
  Context& cx = scope.cx;
  find_maker(value, scope, [&](const ExprView& part) {
    const auto* op = part.get<node::Op>();
    if (op == nullptr || op->op != library::Id::IndexTensor) return false;
    const ExprView base = cx.at(op->args.front()), index = cx.at(op->args.back());
    const bool is_of_each = base.type.dims.size() == 2 && index.type.dims.size() == 1 &&
                            index.type.element != Element::Bool && index.type.dims[0] == base.type.dims[0];
    if (!is_of_each) return false;
    const std::string rows = cx.source_text(base.span), places = cx.source_text(index.span);
    diagnostic.help("if `{}` is a place in each row of `{}`: `{}.gather(1, {}.unsqueeze(1)).squeeze(1)`", places, rows,
                    rows, places);
    return true;
  });
}

bool help_places(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Type& wanted, Scope& scope) {
  Context& cx = scope.cx;
  return find_maker(value, scope, [&](const ExprView& part) {
    const auto* row = part.get<node::Op>();
    const auto* most = row != nullptr && row->op == library::Id::Select ? cx.at(row->args[0]).get<node::Op>() : nullptr;
    const bool is_most = most != nullptr && (most->op == library::Id::Max || most->op == library::Id::Min);
    if (!is_most || most->args.size() < 2 || cx.at(row->args[0]).type.dims != wanted.dims) return false;
    const std::string name(library::info(most->op).name);
    diagnostic.help("`{}` gives the values alone, and places are `{}.arg{}({})`", name,
                    as_base(cx.source_text(cx.at(most->args[0]).span)), name,
                    cx.source_text(cx.at(most->args[1]).span));
    return true;
  });
}

bool is_reduction(const std::string& name, const Scope& scope) {
  const Symbol* symbol = name.empty() ? nullptr : scope.cx.graph.find(scope.module, name);
  return symbol != nullptr && symbol->fn != nullptr && symbol->kind == SymbolKind::Op &&
         std::ranges::any_of(symbol->fn->params, [](const ast::Param& param) { return param.name.text == "keepdim"; });
}

std::optional<Taken> find_taken(const ExprView& value, Scope& scope, const std::function<bool(const Dim&)>& is_it) {
  std::optional<Taken> found;
  if (scope.cx.is_trying) return found;
  find_maker(value, scope, [&](const ExprView& part) {
    const auto* op = part.get<node::Op>();
    const auto axis = op != nullptr ? taken_axis(*op, part.type.dims, scope) : std::nullopt;
    if (!axis) return false;
    const Dim dim = scope.cx.at(op->args[0]).type.dims[*axis];
    if (dim.group != 0 || dim.size.is_one() || !is_it(dim)) return false;
    found = Taken{part.span, dim};
    return true;
  });
  return found;
}

void label_taken(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Type& wanted, Scope& scope) {
  // Where a dim is missing, another one is said.
  const bool has_group = std::ranges::any_of(wanted.dims, [](const Dim& dim) { return dim.group != 0; });
  if (!has_group && wanted.dims.size() != value.type.dims.size()) return;
  const auto taken = find_taken(
      value, scope, [&](const Dim& dim) { return std::ranges::find(wanted.dims, dim) != wanted.dims.end(); });
  if (taken && taken->span != diagnostic.span)
    diagnostic.label(taken->span, "takes `{}` away", scope.cx.text(taken->dim.size));
}

std::optional<Polynomial> counted_to(const ExprView& value, Scope& scope) {
  const auto* op = value.get<node::Op>();
  if (op != nullptr && op->op == library::Id::Arange && value.type.dims.size() == 1) return value.type.dims[0].size;
  if (op != nullptr && library::info(op->op).rearranges && op->op != library::Id::Slice && !op->args.empty())
    return counted_to(scope.cx.at(op->args[0]), scope);
  if (!value.is<node::Local>() || !value.type.is_tensor()) return std::nullopt;
  const std::optional<Expr> given = value_of_local(value, scope);
  return given && !given->is<node::Local>() ? counted_to(*given, scope) : std::nullopt;
}

bool add_origin_cure(diagnostics::Diagnostic& diagnostic, const ExprView& left, const ExprView& right, Scope& scope) {
  return help_count(diagnostic, right, left, scope) || help_count(diagnostic, left, right, scope) ||
         help_axis(diagnostic, left, right, scope) || help_axis(diagnostic, right, left, scope);
}

}  // namespace ltr::check
