#include "dsl/check/experiment/wired.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

/// The hparam that an expression of a model is, itself or as what the experiment gives for a param; null if it is none.
const Hparam* hparam_in(const ExprView& expr, const Object& model, const Experiment& experiment, const Context& cx) {
  if (const auto* hparam = expr.get<node::Hparam>()) return cx.program.find_hparam(hparam->name);
  const auto* member = expr.get<node::Member>();
  if (member == nullptr || !member->is_param || !cx.at(member->object).is<node::Self>()) return nullptr;
  for (size_t i = 0; i < model.params.size() && i < experiment.model_arguments.size(); ++i) {
    const auto* given = cx.at(experiment.model_arguments[i]).get<node::Hparam>();
    if (model.params[i].name == member->name && given != nullptr) return cx.program.find_hparam(given->name);
  }
  return nullptr;
}

/// The texts that an hparam may be, `where act in ["relu", "gelu"]`; none where its rule is another one.
std::vector<std::string> choices_of(const Hparam& hparam, const Context& cx) {
  if (!hparam.where) return {};
  const ExprView rule = cx.at(*hparam.where);
  const auto* in = rule.get<node::In>();
  const auto* set = in != nullptr ? cx.at(in->set).get<node::List>() : nullptr;
  std::vector<std::string> texts;
  for (const ExprId id : set != nullptr ? set->elements : ExprIds()) {
    const auto* text = cx.at(id).get<node::StrConst>();
    if (text == nullptr) return {};
    texts.push_back(text->text);
  }
  return texts;
}

}  // namespace

void check_compared_choices(Context& cx, const Experiment& experiment) {
  const Object& model = cx.program.models[experiment.model];
  const auto look_at = [&](const ExprView& choice, const ExprView& other) {
    const auto* text = other.get<node::StrConst>();
    const Hparam* hparam = text != nullptr ? hparam_in(choice, model, experiment, cx) : nullptr;
    const std::vector<std::string> texts = hparam != nullptr ? choices_of(*hparam, cx) : std::vector<std::string>();
    if (texts.empty() || std::ranges::find(texts, text->text) != texts.end()) return;
    diagnostics::Diagnostic diagnostic =
        diag::wrong_type(other.span, "`" + hparam->name + "` is never \"" + text->text + "\"");
    diagnostic.label(cx.at(*hparam->where).span, "it is one of these");
    if (const auto near = diagnostics::suggest(text->text, texts)) diagnostic.help("did you mean \"{}\"?", *near);
    cx.report(std::move(diagnostic));
  };
  for (const FnId id : model.fns) {
    for_each_expr(cx.program.fns[id].body, cx.program, [&](const ExprView& expr) {
      const auto* equal = expr.get<node::Equal>();
      if (equal == nullptr) return;
      look_at(cx.at(equal->left), cx.at(equal->right));
      look_at(cx.at(equal->right), cx.at(equal->left));
    });
  }
}

}  // namespace ltr::check
