#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/rules.h"

namespace ltr::check {

namespace {

/// Labels have the dims of the logits without the classes; reports where they have others.
bool has_rank_of_labels(const Type& logits, const Given& target, CallSite& site) {
  const Type& labels = target.checked->type;
  if (!logits.is_tensor() || !labels.is_tensor() || logits.dims.size() < 2) return true;
  if (labels.element != Element::I64 || labels.dims.size() + 1 == logits.dims.size()) return true;
  Type wanted = Type::tensor(Element::I64, logits.dims);
  wanted.dims.erase(wanted.dims.begin() + 1);
  Context& cx = site.scope.cx;
  diagnostics::Diagnostic diagnostic = diag::wrong_rank(
      target.span, "`target` of `cross_entropy` must be " + cx.text(wanted) + ", not " + cx.text(labels));
  if (labels.dims.size() == logits.dims.size() && labels.dims[1].size.is_one()) {
    diagnostic.help("`.squeeze(1)` takes the dim of size 1 away");
  }
  cx.report(std::move(diagnostic));
  return false;
}

}  // namespace

// Probabilities as targets, in the shape of the logits, are meant for the soft form.
Expr rule_cross_entropy(const FnInfo& op, CallSite& site) {
  const auto given_as = [&](const char* name, size_t place) -> Given* {
    for (Given& given : site.given) {
      if (given.name && given.name->text == name) return &given;
    }
    return place < site.given.size() && !site.given[place].name ? &site.given[place] : nullptr;
  };
  Given* logits = given_as("logits", 0);
  Given* target = given_as("target", 1);
  if (logits != nullptr && target != nullptr) {
    for (Given* given : {logits, target}) {
      if (!given->checked) given->checked = check_given(*given, site.scope);
      if (given->checked->type.is_error()) return error_at(site.span);
    }
    const Type& probs = target->checked->type;
    const bool is_soft = probs.is_tensor() && is_floating(probs.element) && probs.dims.size() > 1 &&
                         probs.dims.size() == logits->checked->type.dims.size();
    if (is_soft) {
      if (target->name) target->name->text = "probs";
      return call_by_signature(fn_of(site.scope.cx, library::Id::SoftCrossEntropy), site);
    }
    if (!has_rank_of_labels(logits->checked->type, *target, site)) return error_at(site.span);
  }
  return call_by_signature(op, site);
}

}  // namespace ltr::check
