#include <algorithm>
#include <set>

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// Whether a trial of the sweep gives one of the hparams another value.
bool is_swept(const Wired& wired, const Experiment& experiment) {
  const auto* sweep = experiment.sweep ? experiment.sweep->get<node::Call>() : nullptr;
  return sweep != nullptr && std::any_of(sweep->args.begin(), sweep->args.end(), [&](const node::NamedArg& axis) {
           return std::find(wired.hparams.begin(), wired.hparams.end(), axis.name) != wired.hparams.end();
         });
}

/// What the experiment itself sets for one of the hparams that a rule names.
const Expr* set_value(const ExprView& rule, const Experiment& experiment, const Context& cx) {
  if (const auto* hparam = rule.get<node::Hparam>()) {
    const auto set = std::find_if(experiment.sets.begin(), experiment.sets.end(),
                                  [&](const auto& one) { return one.first == hparam->name; });
    return set != experiment.sets.end() ? &set->second : nullptr;
  }
  const Expr* found = nullptr;
  for_each_child(rule, [&](ExprId part) {
    if (found == nullptr) found = set_value(cx.at(part), experiment, cx);
  });
  return found;
}

/// `a == b` of `b == a` too.
std::string in_order(const std::string& rule) {
  const std::string equal = " == ";
  const size_t at = rule.find(equal);
  if (at == std::string::npos) return rule;
  const std::string left = rule.substr(0, at), right = rule.substr(at + equal.size());
  return std::min(left, right) + equal + std::max(left, right);
}

/// 16 and 4, of a rule that two numbers are equal.
std::optional<std::pair<int64_t, int64_t>> sides_of(const ExprView& rule, const Program& program) {
  const auto* equal = rule.get<node::Host>();
  if (equal == nullptr || equal->op != host::Op::Equal || equal->args.size() != 2) return std::nullopt;
  const auto* rest = program.exprs[equal->args[0]].get<node::Host>();
  if (rest != nullptr && rest->op == host::Op::Mod) return std::nullopt;
  const auto left = evaluate(program.exprs[equal->args[0]], program),
             right = evaluate(program.exprs[equal->args[1]], program);
  if (!left || !right || left->kind != HostValue::Kind::Int || right->kind != HostValue::Kind::Int) return std::nullopt;
  return std::pair(left->whole, right->whole);
}

/// The call that has what stands at a place among its arguments, and what is piped into it.
struct FindCall {
  Span argument;
  const ast::Call* call = nullptr;
  bool is_piped = false;

  void take(const ast::Expr& expr, bool piped) {
    const auto* found = expr.get<ast::Call>();
    const bool has = found != nullptr && std::ranges::any_of(found->arguments, [&](const auto& one) {
                       return one.value->span == argument;
                     });
    if (!has || call != nullptr) return;
    call = found;
    is_piped = piped;
  }
  void operator()(const ast::Expr& expr) {
    if (const auto* pipe = expr.get<ast::Pipe>()) take(*pipe->target, true);
    take(expr, false);
    if (call == nullptr) ast::for_each_child(expr, *this);
  }
  void operator()(const auto& node) {
    if (call == nullptr) ast::for_each_child(node, *this);
  }
};

/// Adds the call with two arguments exchanged where one has the name of the parameter that the other is given for.
void help_exchanged(diagnostics::Diagnostic& diagnostic, Span argument, Context& cx) {
  const uint32_t module = cx.graph.module_of(argument.source);
  FindCall find{.argument = argument};
  for (const ast::Decl& decl : cx.graph.modules[module].ast.decls) {
    if (decl.span.begin <= argument.begin && argument.end <= decl.span.end) find(decl);
  }
  const auto* callee = find.call != nullptr ? find.call->callee->get<ast::NameRef>() : nullptr;
  if (callee == nullptr) return;
  const auto stage = cx.graph.stages.find(callee->name.text);
  const Symbol* symbol =
      find.is_piped && stage != cx.graph.stages.end() ? &stage->second : cx.graph.find(module, callee->name.text);
  if (symbol == nullptr || (symbol->kind != SymbolKind::Op && symbol->kind != SymbolKind::Fn)) return;
  const std::vector<ParamInfo>& params = fn_of(cx, *symbol).params;
  std::vector<std::string> written;
  std::optional<size_t> here, meant;
  for (size_t i = 0; i < find.call->arguments.size() && !find.call->arguments[i].name; ++i) {
    const size_t param = i + (find.is_piped ? 1 : 0);
    if (find.call->arguments[i].value->span == argument) here = i;
    written.push_back(cx.source_text(find.call->arguments[i].value->span));
    if (param < params.size() && params[param].name == cx.source_text(argument)) meant = i;
  }
  if (!here || !meant || *here == *meant) return;
  std::swap(written[*here], written[*meant]);
  std::string text;
  for (const std::string& one : written) text += (text.empty() ? "" : ", ") + one;
  const bool has_more = written.size() < find.call->arguments.size();
  diagnostic.help("did you mean `{}({}{})`?", callee->name.text, text, has_more ? ", …" : "");
}

/// The declaration of the program that a place lies in, but for experiments, whose settings are each on their own.
const ast::Decl* decl_around(Span place, const Context& cx) {
  for (const resolve::Module& module : cx.graph.modules) {
    if (module.ast.source != place.source) continue;
    for (const ast::Decl& decl : module.ast.decls) {
      const bool is_around = decl.span.begin <= place.begin && place.end <= decl.span.end;
      if (is_around) return decl.get<ast::Experiment>() == nullptr ? &decl : nullptr;
    }
  }
  return nullptr;
}

/// One wrong size of a block breaks several of its rules, one after the other: the first of them says it, with the others.
void report_first_of_each(std::vector<diagnostics::Diagnostic> found, Context& cx) {
  std::ranges::stable_sort(found, {}, &diagnostics::Diagnostic::span);
  struct Told {
    diagnostics::Diagnostic diagnostic;
    const ast::Decl* decl = nullptr;
    uint32_t line = 0;  ///< of the last one
  };
  std::vector<Told> told;
  for (diagnostics::Diagnostic& one : found) {
    const ast::Decl* decl = decl_around(one.span, cx);
    const uint32_t line = cx.sources.lines(one.span.source).line_of(one.span.begin);
    if (decl != nullptr && !told.empty() && told.back().decl == decl && line <= told.back().line + 1) {
      told.back().line = line;
      told.back().diagnostic.label(one.span, "nor {}", one.message.substr(0, one.message.find(" does not hold")));
    } else {
      told.push_back({std::move(one), decl, line});
    }
  }
  for (Told& one : told) cx.report(std::move(one.diagnostic));
}

void check_rules(Context& cx, const Experiment& experiment, const std::vector<Obligation>& rules) {
  const Object none;
  // Two layers in each other's place break one rule twice, and a wrong result of a block that of who calls it.
  std::set<std::string> told;
  std::set<std::pair<int64_t, int64_t>> told_sides;
  std::vector<diagnostics::Diagnostic> found;
  for (const Obligation& rule : rules) {
    if (!is_asked_at_start(rule, experiment)) continue;
    const Wired wired = wire(cx.at(*rule.condition), none, {}, experiment, cx.program);
    const auto holds = evaluate(wired.expr, cx.program);
    const Span asked_at = rule.use.is_empty() ? rule.span : rule.use;
    const Expr* set = set_value(cx.at(*rule.condition), experiment, cx);
    const Span place = set != nullptr ? set->span : asked_at;
    if (!holds || holds->whole != 0 || is_swept(wired, experiment)) continue;
    const auto sides = sides_of(wired.expr, cx.program);
    // What was told of another experiment is not told again of the next line that it breaks.
    if (is_reported(cx, diagnostics::Code::E0319, place) || is_reported(cx, diagnostics::Code::E0319, asked_at)) {
      told.insert(in_order(rule.text));
      if (sides) told_sides.insert(std::minmax(sides->first, sides->second));
      continue;
    }
    const bool rests_on_wrong = std::ranges::any_of(wired.hparams, [&](const std::string& name) {
      const Hparam* hparam = cx.program.find_hparam(name);
      return hparam != nullptr && is_reported(cx, diagnostics::Code::E0319, cx.at(hparam->initial).span);
    });
    if (rests_on_wrong || !told.insert(in_order(rule.text)).second) continue;
    if (sides && !told_sides.insert(std::minmax(sides->first, sides->second)).second) continue;
    diagnostics::Diagnostic diagnostic = diag::where_not_satisfied(
        place, rule.text,
        "experiment `" + experiment.name + "` gives " +
            (sides ? std::to_string(sides->first) + " and " + std::to_string(sides->second) : "other values"));
    if (place != rule.span && asked_at != rule.span) diagnostic.label(rule.span, "required here");
    if (place != asked_at) diagnostic.label(asked_at, "by this");
    // What a call is given has to fit; rules of what is called are of the call.
    label_builder(diagnostic, asked_at, asked_at == rule.span, cx);
    note_hparams(diagnostic, wired, cx);
    help_exchanged(diagnostic, asked_at, cx);
    found.push_back(std::move(diagnostic));
  }
  report_first_of_each(std::move(found), cx);
}

}  // namespace

void check_start_rules(Context& cx) {
  // A copy: what is wired is kept in the program.
  const std::vector<Experiment> experiments = cx.program.experiments;
  const std::vector<Obligation> of_program = cx.program.obligations;
  for (const Experiment& experiment : experiments) check_rules(cx, experiment, of_program);
}

}  // namespace ltr::check
