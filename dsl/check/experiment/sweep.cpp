#include <algorithm>

#include "dsl/check/experiment/settings.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/draws.h"
#include "runtime/tables/sweep_words.h"

namespace ltr::check {

namespace {

Expr check_trials(const ast::Setting& setting, Scope& scope) {
  Context& cx = scope.cx;
  Expr trials = check_as(setting.value, Type::of(Kind::Int), scope, "`trials`");
  const auto count = trials.type.is_error() ? std::nullopt : evaluate(trials, cx.program);
  if (!count || count->whole >= 1) return trials;
  cx.report(diag::out_of_range(trials.span, "a sweep has at least 1 trial"));
  return error_at(trials.span);
}

/// A trial is looked at from `min` on, up to `max`.
void check_range_of_rounds(const ExprView& asha, Context& cx) {
  const auto* call = asha.get<node::Call>();
  if (call == nullptr) return;
  const auto period = [&](const char* name) -> std::optional<ExprView> {
    const auto found = std::ranges::find(call->args, name, &node::NamedArg::name);
    return found == call->args.end() ? std::nullopt : std::optional(cx.at(found->value));
  };
  const auto most = period("max"), least = period("min");
  const auto* high = most ? most->get<node::Quantity>() : nullptr;
  const auto* low = least ? least->get<node::Quantity>() : nullptr;
  if (high == nullptr || low == nullptr || high->measure != low->measure || high->value >= low->value) return;
  diagnostics::Diagnostic diagnostic = diag::out_of_range(most->span, "`max` is less than `min`");
  if (!least->span.is_empty()) diagnostic.label(least->span, "no trial that begins here ends later");
  cx.report(std::move(diagnostic));
}

Expr check_word(SweepWord word, const ast::Setting& setting, Scope& scope) {
  Context& cx = scope.cx;
  switch (word) {
    case SweepWord::Trials: return check_trials(setting, scope);
    case SweepWord::Minimize:
    case SweepWord::Maximize: return check_as(setting.value, Type::of(Kind::Series), scope, "the target");
    case SweepWord::Method: {
      Type methods = Type::of(Kind::OneOf);
      methods.choices = {"random", "grid"};
      return check_as(setting.value, methods, scope, "`method`");
    }
    case SweepWord::Prune: break;
  }
  if (auto rule = check_setting_call(setting.value, {"asha"}, scope)) {
    check_range_of_rounds(*rule, cx);
    return std::move(*rule);
  }
  cx.report(diag::wrong_type(setting.value.span,
                             "`prune` is `asha(max = 10 epochs)`, not " + cx.source_text(setting.value.span)));
  return error_at(setting.value.span);
}

/// What an hparam of a type may be drawn from.
std::vector<std::string> draws_of(const Type& type) {
  std::vector<std::string> names;
  for (const DrawRow& draw : kDrawRows) {
    const bool is_of_type = type.kind == (draw.type == "int" ? Kind::Int : Kind::Float);
    if (is_of_type) names.emplace_back(draw.name);
  }
  return names;
}

Expr check_axis(const ast::Setting& setting, const Hparam& hparam, Scope& scope) {
  Context& cx = scope.cx;
  if (hparam.type.is_error() || setting.value.get<ast::ErrorExpr>() != nullptr) return error_at(setting.value.span);
  const auto* call = setting.value.get<ast::Call>();
  const auto* callee = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
  const auto value =
      callee != nullptr ? cx.graph.setting_values.find(callee->name.text) : cx.graph.setting_values.end();
  if (setting.is_draw && value != cx.graph.setting_values.end()) {
    cx.report(diag::wrong_type(setting.value.span, "`in` stands before a list of values, and this is drawn")
                  .help("`{} = {}`", hparam.name, cx.source_text(setting.value.span)));
    return error_at(setting.value.span);
  }
  if (setting.is_draw) {
    Type element = hparam.type;
    element.value.reset();
    const Type list = Type::list_of(std::move(element));
    Expr values = check_as(setting.value, list, scope, ("`" + hparam.name + "`").c_str());
    const auto* written = values.get<node::List>();
    if (values.type.is_error() || written == nullptr) return values;
    std::map<std::string, Span> seen;
    for (const ExprId id : written->elements) {
      const std::string text = cx.source_text(cx.at(id).span);
      const auto [first, is_new] = seen.emplace(text, cx.at(id).span);
      if (!is_new)
        cx.report(diag::wrong_argument(cx.at(id).span, "`" + hparam.name + "` has the value " + text + " twice")
                      .label(first->second, "first here"));
    }
    if (!written->elements.empty()) return values;
    cx.report(diag::wrong_argument(values.span, "there is no value in this list"));
    return error_at(values.span);
  }
  const std::vector<std::string> known = draws_of(hparam.type);
  if (auto draw = check_setting_call(setting.value, known, scope)) return std::move(*draw);
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "drawn by `" : "`") + one + "`, ";
  cx.report(diag::wrong_type(setting.value.span, "`" + hparam.name + "` is " + cx.text(hparam.type) + ": it is " +
                                                     list + (list.empty() ? "" : "or ") + "taken from a list, `" +
                                                     hparam.name + " in [a, b]`"));
  return error_at(setting.value.span);
}

const Hparam* find_hparam(const ast::Setting& setting, Scope& scope) {
  if (setting.name.text.empty()) return nullptr;  // told when it was read
  if (const Hparam* hparam = scope.cx.program.find_hparam(setting.name.text)) return hparam;
  std::vector<std::string> known;
  for (const Hparam& hparam : scope.cx.program.hparams) known.push_back(hparam.name);
  const Symbol* symbol = scope.cx.graph.find(scope.module, setting.name.text);
  if (symbol != nullptr && symbol->kind == SymbolKind::Error) return nullptr;
  known.insert(known.end(), kSweepWords.begin(), kSweepWords.end());
  diagnostics::Diagnostic diagnostic = diag::unknown_setting(setting.name.span, "a sweep", setting.name.text);
  note_known(diagnostic, known);
  did_you_mean(diagnostic, setting.name.text, setting.name.span, known);
  scope.cx.report(std::move(diagnostic));
  return nullptr;
}

}  // namespace

std::optional<Expr> check_sweep(const ast::Section& section, Scope& scope) {
  Context& cx = scope.cx;
  node::Call sweep{.name = "sweep", .op = library::Id::None, .args = {}};
  const ast::Setting* draw = nullptr;
  const ast::Setting* grid = nullptr;
  const ast::Setting* target = nullptr;
  bool has_axis = false, has_trials = false, has_error = false;
  for (const ast::Setting& setting : section.settings) {
    const std::string& name = setting.name.text;
    Expr value;
    if (const auto word = find_sweep_word(name)) {
      value = check_word(*word, setting, scope);
      if (is_target(word)) {
        // One name twice is E0612.
        if (target != nullptr && target->name.text != name) {
          cx.report(diag::wrong_argument(setting.name.span, "a sweep looks for one thing that is best")
                        .label(target->name.span, "first here"));
          has_error = true;
        }
        target = &setting;
      }
      has_trials = has_trials || word == SweepWord::Trials;
      if (word == SweepWord::Method && text_of(value) == "grid") grid = &setting;
    } else {
      has_axis = true;
      const Hparam* hparam = find_hparam(setting, scope);
      value = hparam != nullptr ? check_axis(setting, *hparam, scope) : error_at(setting.name.span);
      if (value.is<node::Call>()) draw = &setting;
    }
    has_error = has_error || value.type.is_error();
    sweep.args.push_back({name, cx.keep(std::move(value))});
  }
  if (has_error) return std::nullopt;
  const auto refuse = [&](Span span, const std::string& text, const std::string& help) {
    cx.report(diag::wrong_argument(span, text).help("{}", help));
    return std::nullopt;
  };
  if (!has_axis)
    return refuse(section.name.span, "this sweep changes nothing",
                  "`lr = log_uniform(1e-4, 1e-2)` or `width in [16, 32]`");
  if (target == nullptr) return refuse(section.name.span, "a sweep says which trial is best", "`minimize = val.loss`");
  if (grid != nullptr && draw != nullptr)
    return refuse(draw->value.span, "`method = grid` goes through lists, and this is drawn",
                  "`" + draw->name.text + " in [a, b]`");
  if (grid == nullptr && !has_trials)
    return refuse(section.name.span, "a sweep says how many trials it has", "`trials = 20`, or `method = grid`");
  return Expr{Type::of(Kind::TrainerValue), section.name.span, std::move(sweep)};
}

}  // namespace ltr::check
