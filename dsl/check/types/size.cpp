// Sizes that cannot be: below 0, or of a window that is larger than what it slides over.

#include "dsl/check/types/types.h"

namespace ltr::check {

namespace {

/// A window that is larger than what it slides over: `floor((T - kernel) / stride)` of a number below 0.
bool has_large_window(const Polynomial& declared, const Binding& binding, Context& cx) {
  for (const AtomId id : cx.program.atoms.deep_atoms(declared)) {
    const Atom atom = cx.program.atoms.at(id);  // A copy: interning may move the table.
    if (atom.kind != Atom::Kind::Floor) continue;
    const auto slides = cx.program.atoms.substitute(atom.left, binding.dims).constant();
    if (slides && *slides < 0) return true;
  }
  return false;
}

}  // namespace

bool require_size(const Polynomial& size, const std::string& text, Span use, Scope& scope) {
  Context& cx = scope.cx;
  const auto known = size.constant();
  if (size.is_lost() || (known && *known >= 0)) return true;
  if (!known && (cx.program.atoms.mentions_unknown(size) || !rests_on_params(size, cx))) return true;
  Requirement requirement;
  requirement.kind = Requirement::Kind::AtMost;
  requirement.right = size;
  requirement.text = text;
  requirement.origin = use;
  requirement.is_size = true;
  return require(std::move(requirement), use, scope);
}

bool require_sizes(const Type& declared, const Binding& binding, Span use, Scope& scope) {
  Context& cx = scope.cx;
  for (const Dim& dim : declared.dims) {
    if (dim.group != 0 || dim.size.constant()) continue;
    const Polynomial size = cx.program.atoms.substitute(dim.size, binding.dims);
    const auto known = size.constant();
    if (known && *known <= 0 && has_large_window(dim.size, binding, cx)) {
      const Type result = substitute(declared, binding, cx);
      cx.report(diag::negative_dim(use, cx.text(dim.size), std::to_string(*known))
                    .note("it would give {}: a window is larger than what it slides over", cx.text(result)));
      return false;
    }
    if (!require_size(size, cx.text(dim.size), use, scope)) return false;
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
    std::string cure = cx.source_text(place);
    if (cure.find(' ') != std::string::npos) cure = "(" + cure + ")";
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

}  // namespace ltr::check
