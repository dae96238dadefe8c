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

/// What two numbers are that something is computed of.
std::optional<std::pair<int64_t, int64_t>> ints_of(const node::Host& of_two, const Program& program) {
  if (of_two.args.size() != 2) return std::nullopt;
  const auto left = evaluate(program.exprs[of_two.args[0]], program),
             right = evaluate(program.exprs[of_two.args[1]], program);
  if (!left || !right || left->kind != HostValue::Kind::Int || right->kind != HostValue::Kind::Int) return std::nullopt;
  return std::pair(left->whole, right->whole);
}

/// 16 and 4, of a rule that two numbers are equal.
std::optional<std::pair<int64_t, int64_t>> sides_of(const ExprView& rule, const Program& program) {
  const auto* equal = rule.get<node::Host>();
  if (equal == nullptr || equal->op != host::Op::Equal || equal->args.size() != 2) return std::nullopt;
  const auto* rest = program.exprs[equal->args[0]].get<node::Host>();
  if (rest != nullptr && rest->op == host::Op::Mod) return std::nullopt;
  return ints_of(*equal, program);
}

/// What an experiment gives such a rule: `16 and 4`, or of `channels % groups == 0` these two.
std::string given_text(const ExprView& rule, const Program& program) {
  std::optional<std::pair<int64_t, int64_t>> found = sides_of(rule, program);
  const auto* equal = rule.get<node::Host>();
  const auto* rest =
      equal != nullptr && !equal->args.empty() ? program.exprs[equal->args[0]].get<node::Host>() : nullptr;
  if (!found && rest != nullptr && rest->op == host::Op::Mod) found = ints_of(*rest, program);
  return found ? std::to_string(found->first) + " and " + std::to_string(found->second) : "other values";
}

/// The call that stands at a place, or has what stands there among its arguments, and what is piped into it.
struct FindCall {
  Span place;
  const ast::Call* call = nullptr;
  bool is_piped = false;

  void take(const ast::Expr& expr, bool piped) {
    const auto* found = expr.get<ast::Call>();
    const bool has = found != nullptr &&
                     (expr.span == place ||
                      std::ranges::any_of(found->arguments, [&](const auto& one) { return one.value->span == place; }));
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

FindCall call_at(Span place, const Context& cx) {
  FindCall find{.place = place};
  for (const ast::Decl& decl : cx.graph.modules[cx.graph.module_of(place.source)].ast.decls) {
    if (decl.span.begin <= place.begin && place.end <= decl.span.end) find(decl);
  }
  return find;
}

/// Adds a call with two of its first arguments, which have no names, exchanged.
void help_exchange(diagnostics::Diagnostic& diagnostic, const ast::Call& call, size_t one, size_t other,
                   const Context& cx) {
  std::vector<std::string> written;
  for (const auto& argument : call.arguments) {
    if (argument.name) break;
    written.push_back(cx.source_text(argument.value->span));
  }
  std::swap(written[one], written[other]);
  std::string text;
  for (const std::string& each : written) text += (text.empty() ? "" : ", ") + each;
  const bool has_more = written.size() < call.arguments.size();
  diagnostic.help("did you mean `{}({}{})`?", cx.source_text(call.callee->span), text, has_more ? ", …" : "");
}

/// 4 and 8, of a rule `channels % groups == 0` that does not hold and would the other way round.
std::optional<std::pair<int64_t, int64_t>> exchanged_sides(const ExprView& rule, const Program& program) {
  const auto* equal = rule.get<node::Host>();
  if (equal == nullptr || equal->op != host::Op::Equal) return std::nullopt;
  const auto* rest = program.exprs[equal->args[0]].get<node::Host>();
  if (rest == nullptr || rest->op != host::Op::Mod) return std::nullopt;
  const auto left = evaluate(program.exprs[rest->args[0]], program),
             right = evaluate(program.exprs[rest->args[1]], program);
  if (!left || !right || left->kind != HostValue::Kind::Int || right->kind != HostValue::Kind::Int) return std::nullopt;
  const bool fits = left->whole > 0 && right->whole > left->whole && right->whole % left->whole == 0;
  return fits ? std::optional(std::pair(left->whole, right->whole)) : std::nullopt;
}

/// Adds what is built at `place` with two arguments exchanged, if its rule, of these two params, would hold so.
bool help_divisor(diagnostics::Diagnostic& diagnostic, const ExprView& rule, const std::string& text, Span place,
                  const Context& cx) {
  if (!exchanged_sides(rule, cx.program)) return false;
  const FindCall find = call_at(place, cx);
  const auto* callee = find.call != nullptr ? find.call->callee->get<ast::NameRef>() : nullptr;
  const Symbol* symbol =
      callee != nullptr ? cx.graph.find(cx.graph.module_of(place.source), callee->name.text) : nullptr;
  if (symbol == nullptr || !cx.declared.objects.contains(symbol->decl)) return false;
  std::optional<size_t> whole, part;
  const std::vector<ast::Param>& params = written_params(*symbol->decl);
  for (size_t i = 0; i < find.call->arguments.size() && i < params.size() && !find.call->arguments[i].name; ++i) {
    if (text.starts_with(params[i].name.text + " % ")) whole = i;
    if (text.ends_with(" % " + params[i].name.text + " == 0")) part = i;
  }
  if (!whole || !part || *whole == *part) return false;
  help_exchange(diagnostic, *find.call, *whole, *part, cx);
  return true;
}

/// Adds the call with two arguments exchanged where one has the name of the parameter that the other is given for.
void help_exchanged(diagnostics::Diagnostic& diagnostic, Span argument, Context& cx) {
  const uint32_t module = cx.graph.module_of(argument.source);
  const FindCall find = call_at(argument, cx);
  const auto* callee = find.call != nullptr ? find.call->callee->get<ast::NameRef>() : nullptr;
  if (callee == nullptr) return;
  const auto stage = cx.graph.stages.find(callee->name.text);
  const Symbol* symbol =
      find.is_piped && stage != cx.graph.stages.end() ? &stage->second : cx.graph.find(module, callee->name.text);
  if (symbol == nullptr || (symbol->kind != SymbolKind::Op && symbol->kind != SymbolKind::Fn)) return;
  const std::vector<ParamInfo>& params = fn_of(cx, *symbol).params;
  std::optional<size_t> here, meant;
  for (size_t i = 0; i < find.call->arguments.size() && !find.call->arguments[i].name; ++i) {
    const size_t param = i + (find.is_piped ? 1 : 0);
    if (find.call->arguments[i].value->span == argument) here = i;
    if (param < params.size() && params[param].name == cx.source_text(argument)) meant = i;
  }
  if (here && meant && *here != *meant) help_exchange(diagnostic, *find.call, *here, *meant, cx);
}

/// Adds the two arguments of an experiment that a rule `past == ahead` comes from, where each of two params is given what the other
/// one is called.
void label_exchanged(diagnostics::Diagnostic& diagnostic, const std::string& rule, const Experiment& experiment,
                     const Context& cx) {
  const size_t at = rule.find(" == ");
  if (at == std::string::npos) return;
  const std::string one = rule.substr(0, at), other = rule.substr(at + 4);
  const auto label = [&](const Object& built, const ExprIds& arguments) {
    std::optional<Span> first, second;
    for (size_t i = 0; i < built.params.size() && i < arguments.size(); ++i) {
      const ExprView given = cx.program.exprs[arguments[i]];
      const auto* hparam = given.get<node::Hparam>();
      if (hparam == nullptr || given.span.is_empty()) continue;
      if (built.params[i].name == one && hparam->name == other) first = given.span;
      if (built.params[i].name == other && hparam->name == one) second = given.span;
    }
    if (first && second)
      diagnostic.label(source::join(std::min(*first, *second), std::max(*first, *second)),
                       "`{}` and `{}` are given for each other here", one, other);
  };
  label(cx.program.datas[experiment.data].object, experiment.data_arguments);
  label(cx.program.models[experiment.model], experiment.model_arguments);
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

/// Adds the argument of the experiment that one of the two sides of a rule comes from, where a number stands there and only there.
void label_given(diagnostics::Diagnostic& diagnostic, std::pair<int64_t, int64_t> sides, const Experiment& experiment,
                 const Context& cx) {
  std::vector<Span> places;
  for (const ExprIds* arguments : {&experiment.data_arguments, &experiment.model_arguments}) {
    for (const ExprId id : *arguments) {
      const ExprView& argument = cx.program.exprs[id];
      const auto* number = argument.get<node::IntConst>();
      if (number == nullptr || argument.span.is_empty() || decl_around(argument.span, cx) != nullptr) continue;
      if (number->value == sides.first || number->value == sides.second) places.push_back(argument.span);
    }
  }
  if (places.size() == 1) diagnostic.label(places[0], "given here");
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
      told.back().diagnostic.tie(diagnostics::Tie::OtherRule, one.span, "nor `{}`", one.words[0]);
    } else {
      told.push_back({std::move(one), decl, line});
    }
  }
  for (Told& one : told) cx.report(std::move(one.diagnostic));
}

/// Whether it speaks of what is built at one of these places, which is said.
bool is_of_any(const diagnostics::Diagnostic& one, const std::set<Span>& places) {
  return places.contains(one.span) ||
         std::ranges::any_of(one.labels, [&](const auto& label) { return places.contains(label.span); });
}

/// `exchanged` are the places that are built with two arguments in each other's place.
void check_rules(Context& cx, const Experiment& experiment, const std::vector<Obligation>& rules,
                 std::set<Span>& exchanged) {
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
        place, rule.text, "experiment `" + experiment.name + "` gives " + given_text(wired.expr, cx.program));
    if (place != rule.span && asked_at != rule.span)
      diagnostic.tie(diagnostics::Tie::Required, rule.span, "required here");
    if (place != asked_at) diagnostic.tie(diagnostics::Tie::AskedBy, asked_at, "by this");
    // What a call is given has to fit; rules of what is called are of the call.
    label_builder(diagnostic, asked_at, asked_at == rule.span, cx);
    label_exchanged(diagnostic, rule.text, experiment, cx);
    if (sides) label_given(diagnostic, *sides, experiment, cx);
    note_hparams(diagnostic, wired, cx);
    if (help_divisor(diagnostic, wired.expr, rule.text, asked_at, cx))
      exchanged.insert(asked_at);
    else
      help_exchanged(diagnostic, asked_at, cx);
    found.push_back(std::move(diagnostic));
  }
  std::erase_if(found, [&](const auto& one) { return one.helps.empty() && is_of_any(one, exchanged); });
  report_first_of_each(std::move(found), cx);
}

}  // namespace

void check_start_rules(Context& cx) {
  // A copy: what is wired is kept in the program.
  const std::vector<Experiment> experiments = cx.program.experiments;
  const std::vector<Obligation> of_program = cx.program.obligations;
  std::set<Span> exchanged;
  for (const Experiment& experiment : experiments) check_rules(cx, experiment, of_program, exchanged);
}

}  // namespace ltr::check
