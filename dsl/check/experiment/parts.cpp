#include "dsl/check/experiment/parts.h"

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/merged.h"
#include "dsl/check/scope/aside.h"

namespace ltr::check {

namespace {

ExperimentParts parts_of(const Merged& experiment, Scope& scope) {
  Context& cx = scope.cx;
  ExperimentParts parts;
  const auto take = [&](const ast::Expr& value) {
    const auto* call = value.get<ast::Call>();
    const auto name = call != nullptr ? name_written(*call->callee) : std::nullopt;
    const Symbol* symbol = name ? cx.graph.find(scope.in_file_of(value.span).module, name->text) : nullptr;
    if (symbol == nullptr) return;
    if (symbol->kind == SymbolKind::Model) parts.model = &object_of(cx, *symbol);
    if (symbol->kind == SymbolKind::Data) parts.data = &object_of(cx, *symbol);
    if (symbol->kind == SymbolKind::Callback) parts.callbacks.insert(&object_of(cx, *symbol));
  };
  for (const ast::Setting& setting : experiment.settings) take(setting.value);
  for (const ast::Section& section : experiment.sections) {
    for (const ast::Expr& value : section.values) take(value);
  }
  return parts;
}

}  // namespace

std::vector<ExperimentParts> parts_of_experiments(Scope& scope) {
  Context& cx = scope.cx;
  diagnostics::Sink unheard;  // Experiments say themselves what is wrong with them.
  const Aside aside(cx, unheard);
  std::vector<ExperimentParts> list;
  for (uint32_t module = 0; module < cx.graph.modules.size(); ++module) {
    for (const ast::Decl& decl : cx.graph.modules[module].ast.decls) {
      const auto* experiment = decl.get<ast::Experiment>();
      const auto merged = experiment != nullptr ? merge_amended(cx, module, *experiment) : std::nullopt;
      if (merged) list.push_back(parts_of(*merged, scope));
    }
  }
  return list;
}

}  // namespace ltr::check
