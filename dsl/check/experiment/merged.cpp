#include "dsl/check/experiment/merged.h"

#include <algorithm>

#include "dsl/ast/section.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// `seen` are the experiments on the way from `first`, which amends them all.
std::optional<Merged> merged_of(Context& cx, uint32_t module, const ast::Experiment& experiment,
                                const ast::Experiment& first, std::set<Span>& seen) {
  Merged result;
  if (!seen.insert(experiment.name.span).second) {
    // Reported once, at the first of the circle.
    if (experiment.name.span == *seen.begin())
      cx.report(diag::amends_cycle(experiment.name.span, experiment.name.text));
    return std::nullopt;
  }
  if (seen.size() > kDeepest) {
    cx.report_too_deep(first.amends->span, "of experiments that amend each other");
    return std::nullopt;
  }
  if (experiment.amends) {
    const Symbol* base = cx.graph.find(module, experiment.amends->text, resolve::Space::Experiments);
    if (base != nullptr && base->kind == SymbolKind::Error) return std::nullopt;
    if (base == nullptr) {
      const std::vector<std::string> names = cx.graph.visible(module, resolve::Space::Experiments);
      diagnostics::Diagnostic diagnostic =
          diag::unknown_topology(experiment.amends->span, "experiment", experiment.amends->text);
      if (!help_qualifier(diagnostic, experiment.amends->text, experiment.amends->span, resolve::Space::Experiments,
                          module, cx))
        return std::nullopt;
      if (diagnostic.helps.empty() &&
          !did_you_mean(diagnostic, experiment.amends->text, experiment.amends->span, names))
        note_there_are(diagnostic, names);
      cx.report(std::move(diagnostic));
      return std::nullopt;
    }
    auto merged = merged_of(cx, base->module, *base->decl->get<ast::Experiment>(), first, seen);
    if (!merged) return std::nullopt;
    result = std::move(*merged);
    // An experiment of the program that lacks a part says so itself.
    for (const std::string_view part : {"data", "model"}) {
      const bool has_part = std::any_of(result.settings.begin(), result.settings.end(),
                                        [&](const ast::Setting& one) { return one.name.text == part; });
      if (!has_part && base->module == 0) result.told_missing.emplace(part);
    }
  }
  const auto& experiments = cx.graph.modules[module].experiments;
  const auto own = experiments.find(experiment.name.text);
  result.is_damaged =
      result.is_damaged || own == experiments.end() || own->second.decl == nullptr || own->second.decl->is_damaged;
  put(result.settings, experiment.settings);
  put(result.sets, experiment.sets);
  for (const ast::Section& section : experiment.sections) {
    const auto same = std::find_if(result.sections.begin(), result.sections.end(),
                                   [&](const ast::Section& other) { return other.name.text == section.name.text; });
    if (same == result.sections.end()) {
      result.sections.push_back(section);
    } else if (ast::section_info(section.name.text).amends == ast::Amends::Over) {
      put(same->settings, section.settings);
    } else if (section.adds) {
      same->values.insert(same->values.end(), section.values.begin(), section.values.end());
    } else {
      *same = section;
    }
  }
  return result;
}

}  // namespace

std::optional<Merged> merge_amended(Context& cx, uint32_t module, const ast::Experiment& experiment) {
  std::set<Span> seen;
  return merged_of(cx, module, experiment, experiment, seen);
}

}  // namespace ltr::check
