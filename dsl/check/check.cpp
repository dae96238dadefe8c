#include "dsl/check/check.h"

#include <filesystem>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/experiment.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/settle.h"

namespace ltr::check {

Program check(const resolve::ModuleGraph& graph,
              const source::SourceManager& sources,
              diagnostics::Sink& sink,
              const DataFiles* files) {
  Context cx{.sources = sources, .sink = &sink, .graph = graph, .files = files};
  cx.program.fns.emplace_back();  // Index 0 is no function.
  const resolve::Module& main = graph.modules[0];
  cx.program.name = std::filesystem::path(main.path).stem().string();
  for (const ast::Decl& decl : main.ast.decls) {
    if (const auto* hparam = decl.get<ast::Hparam>()) check_hparam(cx, *hparam, decl, 0);
  }
  for (const ast::Decl& decl : main.ast.decls) {
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
    if (const auto* d = decl.get<ast::Const>()) {
      std::vector<Local> locals;
      Scope scope{.cx = cx, .module = 0, .place = Place::Test, .locals = locals};
      ast::Expr use;
      if (symbol(d->name) != nullptr) check_name(use, d->name, scope);
    }
  }
  check_items_of_steps(cx);
  check_externs(cx);
  check_topologies(cx, 0);
  check_experiments(cx, 0);
  check_logged_names(cx);
  check_learning_rates(cx);
  check_fields(cx);
  check_weights(cx);
  for (const ast::Decl& decl : main.ast.decls) {
    if (const auto* test = decl.get<ast::Test>()) check_test(cx, *test, decl, 0);
  }
  return settle(std::move(cx.program));
}

}  // namespace ltr::check
