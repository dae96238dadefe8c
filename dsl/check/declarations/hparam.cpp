#include <algorithm>
#include <functional>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/aside.h"
#include "dsl/check/statements/statements.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// `size > 0` as what shapes may rest on.
std::optional<Requirement> bound_of(const node::Host& comparison, const Context& cx) {
  Requirement bound;
  bool is_turned = false;
  switch (comparison.op) {
    case host::Op::GreaterEqual: is_turned = true; [[fallthrough]];
    case host::Op::LessEqual: bound.kind = Requirement::Kind::AtMost; break;
    case host::Op::Greater: is_turned = true; [[fallthrough]];
    case host::Op::Less: bound.kind = Requirement::Kind::Less; break;
    default: return std::nullopt;
  }
  const auto &left = cx.at(comparison.args[0]).type.value, &right = cx.at(comparison.args[1]).type.value;
  if (!left || !right) return std::nullopt;
  bound.left = is_turned ? *right : *left;
  bound.right = is_turned ? *left : *right;
  return bound;
}

/// The hparams that an expression names itself.
std::set<std::string> hparams_in(const ExprView& expr, const Context& cx) {
  std::set<std::string> names;
  const std::function<void(const ExprView&)> look = [&](const ExprView& part) {
    if (const auto* use = part.get<node::Hparam>()) names.insert(use->name);
    for_each_child(part, [&](ExprId child) { look(cx.at(child)); });
  };
  look(expr);
  return names;
}

void check_hparam(Context& cx, const ast::Hparam& hparam, const ast::Decl& decl, uint32_t module) {
  std::vector<Local> locals;
  Scope scope{.cx = cx, .module = module, .place = Place::Hparam, .locals = locals};
  Hparam typed;
  typed.name = hparam.name.text;
  typed.doc = decl.doc;
  typed.span = hparam.name.span;
  typed.type = check_type(hparam.type, scope);
  // It would stand in the way of the option. A `seed` is what the program seeds itself with.
  if (typed.name != "seed" && is_option(typed.name)) cx.report(diag::reserved_option(hparam.name.span, typed.name));
  if (!is_setting_type(typed.type)) {
    cx.report(diag::hparam_not_allowed(hparam.type.span, typed.name, cx.text(typed.type)));
    typed.type = Type::error();
  }
  cx.declared.defaults_in_work.insert(&decl);
  Expr initial = check_as(hparam.value, typed.type, scope, "the default");
  cx.declared.defaults_in_work.erase(&decl);
  check_draws_nothing(initial, "a default", cx);
  const size_t index = cx.program.hparams.size();
  for (const std::string& name : hparams_in(initial, cx)) {
    Hparam& below = cx.program.hparams[cx.program.hparam_at.at(name)];
    below.read_by_defaults.push_back(index);
    typed.levels = std::max(typed.levels, below.levels + 1);
  }
  if (typed.levels >= kDeepest) {
    cx.report_too_deep(hparam.name.span, "of hparams");
    initial = error_at(hparam.value.span);
  }
  if (initial.type.is_error()) typed.type = Type::error();
  typed.value = evaluate(initial, cx.program);
  typed.initial = cx.keep(std::move(initial));
  if (typed.type.kind == Kind::List) {
    const Expr length{Type::host_int(), typed.span, node::ListLength{typed.initial}};
    typed.length = evaluate(length, cx.program);
  }
  for (const AtomId size : name_sizes(typed.type, typed.name, true, cx)) {
    Expr whole{typed.type, typed.span, node::Hparam{typed.name}};
    cx.program.sizes_at_start[size] = *part_that_is(size, std::move(whole), typed.span, cx);
  }
  cx.program.hparam_at.emplace(typed.name, index);
  cx.program.hparams.push_back(typed);
  if (!hparam.where) return;
  Expr where = check_as(*hparam.where, Type::of(Kind::Bool), scope, "the rule");
  if (where.type.is_error() || typed.type.is_error()) return;
  for (const std::string& name : hparams_in(where, cx))
    cx.program.hparams[cx.program.hparam_at.at(name)].read_by_rules.push_back(index);
  Hparam& kept = cx.program.hparams[index];
  kept.where_text = cx.source_text(hparam.where->span);
  kept.where = cx.keep(where);
  if (const auto holds = evaluate(where, cx.program); holds && holds->whole == 0) {
    cx.report(diag::where_not_satisfied(hparam.value.span, kept.where_text,
                                        "the default is " + cx.source_text(hparam.value.span))
                  .label(hparam.where->span, "the rule"));
  }
  // Rules of divisibility and bounds are facts when shapes are proven.
  const std::function<void(const ExprView&)> learn = [&](const ExprView& rule) {
    if (const auto* both = rule.get<node::And>()) {
      learn(cx.at(both->left));
      learn(cx.at(both->right));
    }
    const auto* comparison = rule.get<node::Host>();
    if (comparison == nullptr) return;
    if (auto bound = bound_of(*comparison, cx)) cx.facts.add(std::move(*bound));
    if (comparison->op != host::Op::Equal) return;
    const auto* rest = cx.at(comparison->args[0]).get<node::Host>();
    const auto* zero = cx.at(comparison->args[1]).get<node::IntConst>();
    if (rest == nullptr || rest->op != host::Op::Mod || zero == nullptr || zero->value != 0) return;
    const auto& left = cx.at(rest->args[0]).type.value;
    const auto& right = cx.at(rest->args[1]).type.value;
    if (!left || !right) return;
    Requirement fact;
    fact.kind = Requirement::Kind::Divisible;
    fact.left = *left;
    fact.right = *right;
    fact.text = kept.where_text;
    fact.origin = hparam.where->span;
    cx.facts.add(std::move(fact));
  };
  learn(where);
}

}  // namespace

bool is_option(std::string_view name) {
  static const std::set<std::string, std::less<>> kOptions = [] {
    std::set<std::string, std::less<>> spelled;
    for (std::string option : {
#define LTR_OPTION(name, argument, verbs, setting, doc) name,
#include "runtime/tables/options.def"
#undef LTR_OPTION
         }) {
      std::replace(option.begin(), option.end(), '-', '_');
      spelled.insert(std::move(option));
    }
    return spelled;
  }();
  return kOptions.contains(name);
}

bool is_setting_type(const Type& type) {
  return is_made_of(type, {Kind::Error, Kind::Int, Kind::Float, Kind::Bool, Kind::Str, Kind::Path, Kind::Duration,
                           Kind::Period, Kind::Bytes, Kind::OneOf, Kind::List, Kind::Tuple, Kind::Option});
}

const Hparam* hparam_of(Context& cx, const Symbol& symbol) {
  if (!cx.program.hparam_at.contains(symbol.name))
    check_hparam(cx, *symbol.decl->get<ast::Hparam>(), *symbol.decl, symbol.module);
  const Hparam* known = &cx.program.hparams[cx.program.hparam_at.at(symbol.name)];
  if (known->span == symbol.span) return known;
  // What the program itself declares is what its author will change.
  const bool is_own = cx.graph.module_of(known->span.source) == 0;
  cx.report(diag::duplicate_name(is_own ? known->span : symbol.span, symbol.name)
                .label(is_own ? symbol.span : known->span, "both would be the flag `--{}`", symbol.name));
  return nullptr;
}

void take_hparams(Context& cx, uint32_t module) {
  for (const ast::Decl& decl : cx.graph.modules[module].ast.decls) {
    const auto* hparam = decl.get<ast::Hparam>();
    if (hparam == nullptr) continue;
    const Symbol* symbol = cx.graph.find(module, hparam->name.text);
    if (symbol != nullptr && symbol->decl == &decl) hparam_of(cx, *symbol);
  }
}

void check_test(Context& cx, const ast::Test& test, const ast::Decl& decl, uint32_t module) {
  // A run of tests says by the title which of them failed.
  if (cx.source_text(test.title_span) == "\"\"")
    cx.report(diag::wrong_argument(test.title_span, "a test has a title, which says what holds")
                  .help("`test \"the sum of its parts\" { … }`"));
  const auto same = std::find_if(cx.program.tests.begin(), cx.program.tests.end(),
                                 [&](const Test& one) { return one.title == test.title; });
  if (same != cx.program.tests.end()) report_second(cx, {test.title, test.title_span}, same->title_span);
  ast::Fn fn;
  fn.name = {test.title, test.title_span};
  fn.body = test.body;
  fn.has_body = true;
  cx.declared.synthetic.push_back(std::move(fn));
  FnInfo info;
  info.name = test.title;
  info.ast = &cx.declared.synthetic.back();
  info.module = module;
  info.role = FnRole::Test;
  info.result = Type::of(Kind::Void);
  info.index = uint32_t(cx.program.fns.size());
  cx.program.fns.emplace_back();
  Test typed;
  typed.title = test.title;
  typed.fn = info.index;
  typed.span = decl.span;
  typed.title_span = test.title_span;
  if (!test.fails) {
    check_body_of(cx, info);
    cx.program.tests.push_back(std::move(typed));
    return;
  }
  // Only checked: the code must be found, and nothing else.
  typed.is_fails = true;
  const auto expected = diagnostics::find_code(test.fails->text);
  if (!expected) cx.report(diag::unknown_code(test.fails->span, test.fails->text));
  diagnostics::Sink own;
  const size_t obligations = cx.program.obligations.size();
  std::vector<Local> locals;
  Scope scope{.cx = cx, .module = module, .place = Place::Test, .fn = info.index, .info = &info, .locals = locals};
  scope.may_drop_values = true;
  scope.frames.emplace_back();
  Body body;
  {
    const Aside aside(cx, own);
    body = check_body(test.body, scope);
  }
  cx.program.obligations.resize(obligations);
  if (expected) {
    std::string others;
    bool found = false;
    for (const diagnostics::Diagnostic& diagnostic : own.reported()) {
      if (diagnostic.severity != diagnostics::Severity::Error) continue;
      // What was said elsewhere, of a block that it uses, is no mistake of the test.
      const std::vector<diagnostics::Diagnostic> told = cx.sink->reported();
      const bool is_told = std::any_of(told.begin(), told.end(), [&](const diagnostics::Diagnostic& other) {
        return other.code == diagnostic.code && other.message == diagnostic.message;
      });
      if (diagnostic.code == *expected || is_told) {
        found = true;
      } else {
        others += (others.empty() ? "" : ", ") + std::string(diagnostics::to_text(diagnostic.code)) + " (" +
                  diagnostic.message + ")";
      }
    }
    // Where the program has mistakes of its own, they may be why this one does not show.
    const std::vector<diagnostics::Diagnostic>& told = cx.sink->reported();
    const bool is_broken = std::any_of(told.begin(), told.end(), [](const diagnostics::Diagnostic& one) {
      return one.severity == diagnostics::Severity::Error && one.code != diagnostics::Code::E0334;
    });
    if (!found && others.empty() && !is_broken) {
      // Its types are right; whether its training logic is, a later phase decides.
      typed.fails = test.fails->text;
      typed.fails_span = test.fails->span;
    } else if (!others.empty()) {
      cx.report(diag::fails_otherwise(test.fails->span, test.fails->text, "finds " + others));
    }
  }
  Fn kept;
  kept.role = FnRole::Test;
  if (!typed.fails.empty()) {
    kept.name = test.title;
    kept.span = test.title_span;
    kept.result = Type::of(Kind::Void);
    kept.locals = std::move(locals);
    kept.body = std::move(body);
  }
  cx.program.fns[info.index] = std::move(kept);
  cx.program.tests.push_back(std::move(typed));
}

}  // namespace ltr::check
