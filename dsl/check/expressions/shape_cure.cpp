// What is said of two tensors that do not go together, of how one becomes what the other is.

#include <algorithm>

#include "dsl/check/expressions/operands.h"
#include "dsl/check/expressions/origins.h"

namespace ltr::check {

void add_shape_cure(diagnostics::Diagnostic& diagnostic, const ExprView& longer, const ExprView& shorter, Context& cx) {
  const std::vector<Dim>&many = longer.type.dims, &few = shorter.type.dims;
  const auto agree = [&](const std::vector<Dim>& one, const std::vector<Dim>& other) {
    const Broadcast shape = broadcast(one, other, cx);
    return shape.dims && shape.equal.empty() && !shape.is_symbolic_clash;
  };
  // A dim that was added there is meant: the other one lacks its own.
  const auto* added = longer.get<node::Op>();
  const bool is_added = added != nullptr && added->op == library::Id::Unsqueeze;
  for (size_t i = is_added ? 0 : many.size(); i-- > 0;) {
    std::vector<Dim> squeezed = many;
    squeezed.erase(squeezed.begin() + long(i));
    if (!many[i].size.is_one() || !agree(squeezed, few)) continue;
    diagnostic.help("`{}.squeeze({})`", as_base(cx.source_text(longer.span)), i);
    return;
  }
  std::vector<Dim> paired = few;
  while (paired.size() < many.size()) paired.insert(paired.begin(), Dim{Polynomial(1)});
  if (agree(many, paired)) {
    std::string code = as_base(cx.source_text(shorter.span));
    for (size_t i = few.size(); i < many.size(); ++i) code += ".unsqueeze(0)";
    diagnostic.help("{}`{}`", is_added ? "" : "if each is meant to meet each: ", code);
  } else {
    diagnostic.help("write `.squeeze(…)` or `.unsqueeze(…)` on one side");
  }
}

namespace {

/// The function with a `keepdim` that took a dim away from a value, `norm` of `norm(h, dim = 1) + 1e-8`; empty if none did.
std::string reduction_of(const ExprView& value, const Scope& scope) {
  Context& cx = scope.cx;
  const std::string maker = maker_of(value, scope);
  if (is_reduction(maker, scope)) return maker;
  const auto* op = value.get<node::Op>();
  std::string found;
  for (size_t i = 0; op != nullptr && i < op->args.size() && found.empty(); ++i) {
    const ExprView& part = cx.at(op->args[i]);
    if (part.type.is_tensor() && part.type.dims == value.type.dims) found = reduction_of(part, scope);
  }
  return found;
}

}  // namespace

bool add_unsqueeze_cure(diagnostics::Diagnostic& diagnostic, const ExprView& longer, const ExprView& shorter,
                        const Scope& scope) {
  const Context& cx = scope.cx;
  const std::vector<Dim>&many = longer.type.dims, &few = shorter.type.dims;
  if (few.empty() || few.size() >= many.size() || !std::equal(few.begin(), few.end(), many.begin())) return false;
  std::string code = as_base(cx.source_text(shorter.span));
  for (size_t i = few.size(); i < many.size(); ++i) code += ".unsqueeze(" + std::to_string(i) + ")";
  diagnostic.help("dims are aligned at the right; if these are the first: `{}`", code);
  const std::string reduction = few.size() + 1 == many.size() ? reduction_of(shorter, scope) : "";
  if (!reduction.empty())
    diagnostic.help("or let it keep the dim that it takes away: `{}(…, keepdim = true)`", reduction);
  return true;
}

bool help_quoted_name(diagnostics::Diagnostic& diagnostic, const ExprView& text, const Scope& scope) {
  const auto* constant = text.get<node::StrConst>();
  if (constant == nullptr || !is_in_scope(constant->text, scope)) return false;
  diagnostic.help("did you mean `{}`, without quotes?", constant->text).guess(text.span, constant->text);
  return true;
}

}  // namespace ltr::check
