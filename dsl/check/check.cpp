#include "dsl/check/check.h"

#include <filesystem>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/doubtful.h"
#include "dsl/check/experiment/experiment.h"
#include "dsl/check/experiment/repeated_steps.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/settle.h"

namespace ltr::check {

namespace {

/// An imported hparam is a flag of the program; so are those of a file whose experiment is imported or amended. Of
/// experiments in `seen` they have been taken, with all that those amend.
void take_imported_hparams(Context& cx, const ast::Decl& decl, std::set<const ast::Experiment*>& seen) {
  using resolve::Space;
  if (const auto* import = decl.get<ast::Import>()) {
    for (const ast::Name& name : import->names) {
      const Symbol* symbol = cx.graph.find(0, name.text);
      if (symbol != nullptr && symbol->kind == SymbolKind::Hparam) hparam_of(cx, *symbol);
      const Symbol* experiment = cx.graph.find(0, name.text, Space::Experiments);
      if (experiment != nullptr && experiment->kind == SymbolKind::Experiment) take_hparams(cx, experiment->module);
    }
  }
  const auto* experiment = decl.get<ast::Experiment>();
  uint32_t module = 0;
  while (experiment != nullptr && experiment->amends && seen.insert(experiment).second) {
    const Symbol* base = cx.graph.find(module, experiment->amends->text, Space::Experiments);
    if (base == nullptr || base->kind != SymbolKind::Experiment) return;
    if (base->module != module) take_hparams(cx, base->module);
    module = base->module;
    experiment = base->decl->get<ast::Experiment>();
  }
}

}  // namespace

Program check(const resolve::ModuleGraph& graph, const source::SourceManager& sources, diagnostics::Sink& sink,
              const DataFiles* files) {
  const std::shared_ptr<Context> held(new Context{.sources = sources, .sink = &sink, .graph = graph, .files = files});
  Context& cx = *held;
  const auto finish = [&] {
    Program program = settle(std::move(cx.program));
    program.scaffold = held;
    return program;
  };
  cx.program.fns.emplace_back();  // Index 0 is no function.
  const resolve::Module& main = graph.modules[0];
  cx.program.name = std::filesystem::path(main.path).stem().string();
  take_hparams(cx, 0);
  std::set<const ast::Experiment*> seen;
  for (const ast::Decl& decl : main.ast.decls) take_imported_hparams(cx, decl, seen);
  for (const ast::Decl& decl : main.ast.decls) {
    if (sink.is_full()) return finish();
    const auto symbol = [&](const ast::Name& name) -> const Symbol* {
      const auto found = main.symbols.find(name.text);
      return found == main.symbols.end() || found->second.decl != &decl ? nullptr : &found->second;
    };
    const auto object = [&](const ast::Name& name) {
      if (const Symbol* found = symbol(name)) complete(cx, object_of(cx, *found));
    };
    if (const auto* d = decl.get<ast::Block>()) object(d->name);
    if (const auto* d = decl.get<ast::Model>()) object(d->name);
    if (const auto* d = decl.get<ast::Metric>()) object(d->name);
    if (const auto* d = decl.get<ast::Data>()) object(d->name);
    if (const auto* d = decl.get<ast::Callback>()) object(d->name);
    if (const auto* d = decl.get<ast::Fn>()) {
      if (const Symbol* found = symbol(d->name)) check_body_of(cx, fn_of(cx, *found));
    }
    if (const auto* d = decl.get<ast::TypeName>(); d != nullptr && symbol(d->name) != nullptr) {
      std::vector<Local> locals;
      Scope scope{.cx = cx, .module = 0, .place = Place::Const, .locals = locals};
      check_type({d->name.span, ast::NamedType{d->name, false, {}}}, scope);
    }
    if (const auto* d = decl.get<ast::Const>()) {
      std::vector<Local> locals;
      Scope scope{.cx = cx, .module = 0, .place = Place::Test, .locals = locals};
      ast::Expr use;
      if (symbol(d->name) != nullptr) check_name(use, d->name, scope);
    }
  }
  check_code_of_steps(cx);
  check_externs(cx);
  check_topologies(cx);
  check_experiments(cx);
  check_logged_names(cx);
  check_learning_rates(cx);
  check_repeated_steps(cx);
  check_argument_ranges(cx);
  check_start_rules(cx);
  check_sweep_rules(cx);
  check_swept_values(cx);
  check_fields(cx);
  for (const ast::Decl& decl : main.ast.decls) {
    if (const auto* test = decl.get<ast::Test>(); test != nullptr && !sink.is_full()) check_test(cx, *test, decl, 0);
  }
  check_drawn_members(cx);
  check_uncalled_steps(cx);
  check_unused_names(cx);
  check_crossed_arguments(cx);
  check_kept_averages(cx);
  check_joined_layers(cx);
  return finish();
}

Program oblige(Program checked, const std::vector<Requirement>& requirements, const resolve::ModuleGraph& graph,
               const source::SourceManager& sources, diagnostics::Sink& sink) {
  Context cx{.sources = sources, .sink = &sink, .graph = graph, .program = std::move(checked)};
  std::vector<Local> locals;
  Scope scope{.cx = cx, .module = 0, .place = Place::Experiment, .locals = locals};
  for (const Requirement& requirement : requirements) require(requirement, requirement.origin, scope);
  return std::move(cx.program);
}

}  // namespace ltr::check
