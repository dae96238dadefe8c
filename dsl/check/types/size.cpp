// Sizes that cannot be: below 0, or of a window that is larger than what it slides over.

#include "dsl/check/expressions/operands.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

/// What a window leaves of what it slides over, `T - kernel` of a size that is declared as `floor((T - kernel) / stride) + 1`.
struct Left {
  Polynomial of_binders;
  Polynomial whole;
};

/// Without the params of the declaration, which have been given: `T - 20`. As declared where nothing else stands in it.
Polynomial of_binders(const Polynomial& declared, const Binding& binding, Context& cx) {
  AtomTable::Substitution params = binding.dims;
  std::erase_if(params, [&](const auto& one) { return cx.program.atoms.at(one.first).is_binder; });
  const Polynomial rest = cx.program.atoms.substitute(declared, params);
  return rest.constant() ? declared : rest;
}

std::optional<Left> left_by_window(const Polynomial& declared, const Binding& binding, Context& cx) {
  for (const AtomId id : declared.atoms()) {
    const Atom& atom = cx.program.atoms.at(id);
    if (atom.kind != Atom::Kind::Floor || declared != Polynomial::atom(id) + 1) continue;
    const Polynomial left = atom.left;  // A copy: interning may move the table.
    return Left{of_binders(left, binding, cx), cx.program.atoms.substitute(left, binding.dims)};
  }
  return std::nullopt;
}

/// `8 - k` and not `-k + 8`; with ` <= ` between them, the rule that it is not below 0.
std::string difference_text(const Polynomial& size, const char* between, const Context& cx) {
  Polynomial::Terms given, taken;
  for (const auto& [monomial, coefficient] : size.terms()) {
    if (coefficient > 0)
      given[monomial] = coefficient;
    else
      taken[monomial] = -coefficient;
  }
  const std::string whole = cx.text(Polynomial::of(given)), part = cx.text(Polynomial::of(taken));
  if (std::string_view(between) == " <= ") return part + between + whole;
  return whole + between + (taken.size() > 1 ? "(" + part + ")" : part);
}

/// Whether nobody owes anything for a size: it is there, or nothing is known of it here.
bool is_settled(const Polynomial& size, Context& cx) {
  const auto known = size.constant();
  if (size.is_lost() || (known && *known >= 0)) return true;
  return !known && (cx.program.atoms.mentions_unknown(size) || !rests_on_params(size, cx));
}

/// What the callers of this place owe: that `size` is not below 0.
bool ask_for_size(const Polynomial& size, const std::string& text, bool is_window, Span use, Scope& scope) {
  if (is_settled(size, scope.cx)) return true;
  Requirement requirement;
  requirement.kind = Requirement::Kind::AtMost;
  requirement.right = size;
  requirement.text = text;
  requirement.origin = use;
  requirement.is_size = true;
  requirement.is_window = is_window;
  return require(std::move(requirement), use, scope);
}

}  // namespace

bool require_size(const Polynomial& size, const std::string& text, Span use, Scope& scope) {
  return ask_for_size(size, text, false, use, scope);
}

namespace {

/// `hidden` of `4 * hidden`, which is above 0 where that is.
Polynomial without_factor(const Polynomial& size) {
  const auto first = size.terms().begin();
  return size.terms().size() == 1 && first->second > 1 ? Polynomial::of({{first->first, 1}}) : size;
}

}  // namespace

bool require_elements(const Type& weight, Span use, Scope& scope) {
  Context& cx = scope.cx;
  for (const Dim& dim : weight.dims) {
    if (dim.group != 0 || dim.size.constant().value_or(0) >= 1 || is_settled(dim.size, cx)) continue;
    Requirement requirement;
    requirement.kind = Requirement::Kind::AtMost;
    requirement.left = 1;
    requirement.right = without_factor(dim.size);
    requirement.text = cx.text(requirement.right) + " >= 1";
    requirement.origin = use;
    requirement.is_of_weight = true;
    requirement.bounds_left = true;
    if (!require(std::move(requirement), use, scope)) return false;
  }
  return true;
}

bool require_sizes(const Type& declared, const Binding& binding, Span use, Scope& scope) {
  Context& cx = scope.cx;
  for (const Dim& dim : declared.dims) {
    if (dim.group != 0 || dim.size.constant()) continue;
    const Polynomial size = cx.program.atoms.substitute(dim.size, binding.dims);
    // One that rounds up has a window that fits, too.
    const auto left = left_by_window(without_truths(dim.size, cx), binding, cx);
    if (const auto known = left ? left->whole.constant() : std::nullopt; known && *known < 0) {
      const Type result = substitute(declared, binding, cx);
      cx.report(diag::negative_dim(use, difference_text(left->of_binders, " - ", cx), std::to_string(*known))
                    .note("it would give {}: a window is larger than what it slides over", cx.text(result)));
      return false;
    }
    if (is_settled(left ? left->whole : size, cx)) continue;
    const bool holds = left ? ask_for_size(left->whole, difference_text(left->whole, " <= ", cx), true, use, scope)
                            : require_size(size, cx.text(of_binders(dim.size, binding, cx)), use, scope);
    if (!holds) return false;
  }
  for (const TypeField& field : declared.fields) {
    if (!require_sizes(field.type, binding, use, scope)) return false;
  }
  return true;
}

bool require_broadcast(const Requirement& requirement, const ExprView& given, Span place, Scope& scope) {
  Context& cx = scope.cx;
  const Type& type = given.type.kind == Kind::Option ? given.type.fields[0].type : given.type;
  if (!type.is_tensor()) return true;
  const std::vector<Polynomial>& onto = requirement.onto;
  std::vector<Dim> wanted;
  for (const Polynomial& size : onto) wanted.push_back({.size = size, .group = 0});
  bool fits = type.dims.size() <= onto.size();
  for (size_t i = 0; fits && i < type.dims.size(); ++i) {
    const Dim& own = type.dims[type.dims.size() - 1 - i];
    if (own.group != 0) return true;  // What `...` stands for is seen where the tensor comes from.
    fits = own.size.is_one() || require_equal(onto[onto.size() - 1 - i], own.size, place, scope, true);
  }
  if (fits) return true;
  diagnostics::Diagnostic diagnostic =
      diag::dims_differ(place, "`" + requirement.param + "` does not broadcast to " +
                                   cx.text(Type::tensor(type.element, std::move(wanted))));
  diagnostic.label(place, "{}", cx.text(type));
  // One row for each sample, as PyTorch takes it: the axes between are of size 1.
  const bool is_of_samples = type.dims.size() >= 2 && type.dims.size() < onto.size() &&
                             type.dims.front().size == onto.front() && type.dims.back().size == onto.back();
  if (is_of_samples) {
    std::string cure = as_base(cx.source_text(place));
    for (size_t i = type.dims.size(); i < onto.size(); ++i) cure += ".unsqueeze(1)";
    diagnostic.help("axes are counted from the last; one for each sample is `{}`", cure);
  } else {
    diagnostic.note("axes are counted from the last, and each is of that size, or of size 1");
  }
  cx.report(std::move(diagnostic));
  return false;
}

bool require_one_for_each(const Requirement& requirement, const ExprView& given, Span place, Scope& scope) {
  Context& cx = scope.cx;
  const Type& type = given.type;
  const auto count = requirement.left.constant();
  if (!type.is_tensor() || !count || *count == 1) return true;
  const auto axis = size_t(requirement.axis);
  for (size_t i = 0; i <= axis && i < type.dims.size(); ++i) {
    if (type.dims[i].group != 0) return true;  // What `...` stands for is seen where the tensor comes from.
  }
  const auto there = axis < type.dims.size() ? type.dims[axis].size.constant() : std::optional<int64_t>(1);
  if (!there || *there == *count) return true;
  cx.report(diag::dims_differ(place, "there are " + std::to_string(*count) + " for the " + std::to_string(*there) +
                                         " of axis " + std::to_string(axis))
                .label(place, "{}", cx.text(type))
                .note("`{}` is 1, or one for each of that axis", requirement.text));
  return false;
}

bool require_rows(const Requirement& table, const ExprView& index, Span use, Scope& scope) {
  Context& cx = scope.cx;
  if (cx.is_trying) return true;
  const std::optional<Polynomial> most = counted_to(index, scope);
  if (!most || cx.program.atoms.mentions_unknown(*most)) return true;
  Requirement rows;
  rows.kind = Requirement::Kind::AtMost;
  rows.left = *most;
  rows.right = table.left;
  rows.text = cx.text(rows.left) + " <= " + cx.text(rows.right);
  rows.origin = use;
  rows.is_where = true;
  rows.is_rows = true;
  const bool is_of_caller = !rests_on_params(rows.left, cx) && rests_on_params(rows.right, cx) &&
                            scope.info != nullptr && scope.info->owner == scope.owner;
  const Truth truth = decide(rows, cx);
  if (truth == Truth::Proven) return true;
  if (!is_of_caller || truth != Truth::Open) return require(std::move(rows), use, scope);
  scope.info->requirements.push_back(std::move(rows));
  return true;
}

}  // namespace ltr::check
