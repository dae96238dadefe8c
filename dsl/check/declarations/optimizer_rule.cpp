#include "dsl/check/declarations/optimizer_rule.h"

#include <algorithm>

#include "dsl/check/expressions/expressions.h"
#include "dsl/resolve/library.h"

namespace ltr::check {

const std::vector<ParamInfo>* rule_params(const ast::Expr& value, Context& cx) {
  const auto* call = value.get<ast::Call>();
  const auto* name = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  if (name == nullptr) return nullptr;
  const auto symbol = cx.graph.prelude.find(name->name.text);
  if (symbol == cx.graph.prelude.end() || symbol->second.kind != SymbolKind::Op) return nullptr;
  const FnInfo& rule = fn_of(cx, symbol->second);
  return rule.result.kind == Kind::Optimizer ? &rule.params : nullptr;
}

std::vector<std::string> optimizer_settings() { return {"schedule", "clip_norm", "clip_value"}; }

std::vector<std::string> group_settings(std::vector<std::string> of_rule) {
  of_rule.insert(of_rule.end(), {"schedule", "rule"});
  return of_rule;
}

Expr check_rule(const ast::Expr& value, Scope& scope) {
  const ClosedCall rules{callee_of(value), [] { return resolve::LibraryIndex::get().names("optim/"); }};
  scope.closed = &rules;
  Expr checked = check_expr(value, scope);
  scope.closed = nullptr;
  return checked;
}

namespace {

/// Whether a value is written as weights are: `net.weights`, the name of a member that has some, a part of it, or a list of these.
bool is_written_weights(const ast::Expr& value, const ObjectInfo& object) {
  if (const auto* field = value.get<ast::Field>())
    return field->name.text == "weights" || is_written_weights(*field->base, object);
  if (const auto* list = value.get<ast::List>())
    return std::all_of(list->elements.begin(), list->elements.end(),
                       [&](const ast::Expr& one) { return is_written_weights(one, object); });
  const auto* name = value.get<ast::NameRef>();
  const auto member = name != nullptr ? object.members.find(name->name.text) : object.members.end();
  return member != object.members.end() &&
         (member->second.kind == MemberKind::Weight || member->second.type.kind == Kind::Block);
}

}  // namespace

bool report_weights_beside(const ast::Expr& value, size_t taken, const ObjectInfo& object, Context& cx) {
  const auto* call = value.get<ast::Call>();
  if (call == nullptr || rule_params(value, cx) == nullptr) return false;
  const std::vector<ast::Argument>& given = call->arguments;
  size_t count = 0;
  const auto is_weights = [&](const ast::Argument& argument) {
    const bool is_placed =
        !argument.name || (taken == 0 && (argument.name->text == "weights" || argument.name->text == "params"));
    return is_placed && is_written_weights(*argument.value, object);
  };
  while (count < given.size() && is_weights(given[count])) ++count;
  if (count <= taken) return false;
  const Span all = source::join(given[0].value->span, given[count - 1].value->span);
  diagnostics::Diagnostic diagnostic =
      diag::wrong_argument(given[taken].value->span, taken == 0 ? "the rule of a group has the weights of the group"
                                                                : "the weights of an optimizer are one argument");
  if (taken == 0)
    diagnostic.help("take them away: `{}`", cx.source_text(all));
  else
    diagnostic.help("several are a list: `[{}]`", cx.source_text(all)).fix(all, "[" + cx.source_text(all) + "]");
  cx.report(std::move(diagnostic));
  return true;
}

diagnostics::Diagnostic undeclared_optimizer(const ast::Name& member) {
  const Span begin = {member.span.source, member.span.begin, member.span.begin};
  return diag::which_optimizer(member.span, "`" + member.text + "` is an optimizer, and not declared as one")
      .help("`optimizer {} = …`", member.text)
      .fix(begin, "optimizer ");
}

}  // namespace ltr::check
