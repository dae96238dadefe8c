#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/library/shape_rules/rules.h"
#include "dsl/check/scope/aside.h"

namespace ltr::check {

namespace {

/// Whether a method can be called of an expression as it is written: no operator stands outside of brackets.
bool is_postfix(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && std::string_view(" +-*/@|").find(c) != std::string_view::npos) return false;
  }
  return true;
}

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
  const bool has_classes = labels.dims.size() == logits.dims.size();
  if (has_classes && labels.dims[1].size.is_one()) {
    diagnostic.help("`.squeeze(1)` takes the dim of size 1 away");
  } else if (has_classes) {
    help_of_argument(diagnostic, "`target` of `cross_entropy`");
  }
  cx.report(std::move(diagnostic));
  return false;
}

/// Whether `labels` has the dims of `logits` without its last one: the classes are where Keras has them.
bool has_classes_last(const Type& logits, const Type& labels) {
  if (!logits.is_tensor() || !labels.is_tensor() || logits.dims.size() < 3) return false;
  return std::equal(logits.dims.begin(), logits.dims.end() - 1, labels.dims.begin(), labels.dims.end());
}

/// A call of which all that is wrong is that the classes come last: E0303 with how they become axis 1.
Expr call_with_classes_last(const FnInfo& op, const Given& logits, const Given& target, CallSite& site) {
  Context& cx = site.scope.cx;
  const Type written = logits.checked->type, labels = target.checked->type;
  const Span place = logits.span, target_place = target.span;
  diagnostics::Sink found;
  Expr call;
  {
    const Aside aside(cx, found);
    call = call_by_signature(op, site);
  }
  const size_t rank = written.dims.size();
  std::string order = "0, " + std::to_string(rank - 1);
  Type wanted = Type::tensor(written.element, {written.dims[0], written.dims[rank - 1]});
  for (size_t i = 1; i + 1 < rank; ++i) {
    order += ", " + std::to_string(i);
    wanted.dims.push_back(written.dims[i]);
  }
  const auto report_cure = [&] {
    const std::string cure = rank == 3 ? ".transpose(1, 2)" : ".permute(" + order + ")", code = cx.source_text(place);
    const std::string cured = (is_postfix(code) ? code : "(" + code + ")") + cure;
    cx.report(diag::dims_differ(place, "`cross_entropy` has the classes in axis 1 of the logits, not in the last")
                  .label(place, "{}", cx.text(written))
                  .label(target_place, "{}", cx.text(labels))
                  .note("{} is wanted", cx.text(wanted))
                  .help("`{}`", cured)
                  .fix(place, cured));
  };
  // Names that may stand for one size are no reason to take `[B, T]` for labels of `[B, vocab]`.
  const bool is_first = labels.dims[0] == written.dims[0] &&
                        std::equal(labels.dims.begin() + 1, labels.dims.end(), written.dims.begin() + 2);
  if (found.reported().empty() && !is_first) {
    report_cure();
    return error_at(site.span);
  }
  for (const diagnostics::Diagnostic& diagnostic : found.reported()) {
    if (diagnostic.code == diagnostics::Code::E0303 && diagnostic.span == target_place)
      report_cure();
    else
      cx.report(diagnostic);
  }
  return call;
}

}  // namespace

namespace {

/// The argument of a call for the param `name`, which is at `place`; null if it is not given.
Given* argument_of(CallSite& site, std::string_view name, size_t place) {
  for (Given& given : site.given) {
    if (given.name && given.name->text == name) return &given;
  }
  return place < site.given.size() && !site.given[place].name ? &site.given[place] : nullptr;
}

}  // namespace

// Weights of fewer dims than the logits are those of their last dims, `float[C]` of classes, and stretch over the others, as do
// dims of 1 and one number.
Expr rule_bce_with_logits(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  Given* logits = argument_of(site, "logits", 0);
  Given* weight = argument_of(site, "pos_weight", 2);
  if (logits == nullptr || weight == nullptr) return call_by_signature(op, site);
  for (Given* given : {logits, weight}) {
    if (!given->checked) given->checked = check_given(*given, site.scope);
    if (given->checked->type.is_error()) return error_at(site.span);
  }
  const Type of_logits = logits->checked->type;
  const Type& given = weight->checked->type;
  const bool is_host = given.kind == Kind::List || given.is_host_number();
  if (!of_logits.is_tensor() || (!is_host && !given.is_tensor())) return call_by_signature(op, site);
  const std::string what = "`pos_weight` of `" + op.name + "`";
  Expr weights = is_host ? convert(*weight->checked, Type::tensor(of_logits.element, {}), site.scope, what.c_str())
                         : *weight->checked;
  if (weights.type.is_error()) return error_at(site.span);
  const std::vector<Dim>& own = weights.type.dims;
  if (own.size() > of_logits.dims.size()) return call_by_signature(op, site);
  Type wanted = Type::tensor(of_logits.element, {of_logits.dims.end() - long(own.size()), of_logits.dims.end()});
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].group == 0 && own[i].size.is_one()) wanted.dims[i] = own[i];
  }
  Binding binding;
  if (!match(wanted, weights.type, binding, {}, weights.span, site.scope, what, false)) return error_at(site.span);
  site.given.erase(site.given.begin() + (weight - site.given.data()));
  Expr call = call_by_signature(op, site);
  if (auto* made = call.get<node::Op>()) made->args[2] = cx.keep(std::move(weights));
  return call;
}

namespace {

/// E0309: of one class the probability is 1, whatever its score.
bool has_classes(const ExprView& logits, CallSite& site) {
  const std::vector<Dim>& dims = logits.type.dims;
  if (!logits.type.is_tensor() || dims.size() < 2 || dims[1].group != 0 || !dims[1].size.is_one()) return true;
  site.scope.cx.report(
      diag::wrong_argument(logits.span, "the cross entropy of one class is 0, whatever its score")
          .label(logits.span, "{}", site.scope.cx.text(logits.type))
          .help("of yes or no it is `bce_with_logits(scores.squeeze(1), y)`, `y` being 0 or 1 as a `float`"));
  return false;
}

}  // namespace

// Probabilities as targets, in the shape of the logits, are meant for the soft form.
Expr rule_cross_entropy(const FnInfo& op, CallSite& site) {
  Given* logits = argument_of(site, "logits", 0);
  Given* target = argument_of(site, "target", 1);
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
    if (!has_classes(*logits->checked, site)) return error_at(site.span);
    if (has_classes_last(logits->checked->type, probs)) return call_with_classes_last(op, *logits, *target, site);
  }
  return call_by_signature(op, site);
}

}  // namespace ltr::check
