#include "dsl/check/scope/scope.h"

namespace ltr::check {

namespace {

bool has(const resolve::Names& file, const std::string& name, resolve::Space space) {
  switch (space) {
    case resolve::Space::Symbols: return file.symbols.contains(name);
    case resolve::Space::Topologies: return file.topologies.contains(name);
    case resolve::Space::Experiments: return file.experiments.contains(name);
  }
  return false;
}

}  // namespace

bool help_qualifier(diagnostics::Diagnostic& diagnostic, const std::string& name, Span span, resolve::Space space,
                    uint32_t module, Context& cx, bool is_path) {
  const resolve::Module& file = cx.graph.modules[module];
  const size_t dot = name.find('.');
  const std::string qualifier = name.substr(0, dot);
  if (dot == std::string::npos || file.aliases.contains(qualifier) || file.symbols.contains(qualifier)) return true;
  if (file.lost_import && !diagnostics::is_foreign_package(qualifier)) return false;
  const std::string rest = name.substr(dot + 1);
  for (const auto& [alias, target] : file.aliases) {
    if (!has(cx.graph.modules[target], rest, space)) continue;
    if (!cx.told.qualifiers.emplace(module, qualifier).second) return false;
    diagnostic.help("the file that has it is imported as `{}`: `{}.{}`", alias, alias, rest)
        .guess({span.source, span.begin, span.begin + uint32_t(qualifier.size())}, alias);
    return true;
  }
  std::vector<std::string> aliases;
  for (const auto& [alias, target] : file.aliases) aliases.push_back(alias);
  if (const auto near = diagnostics::suggest(qualifier, aliases)) {
    if (!cx.told.qualifiers.emplace(module, qualifier).second) return false;
    diagnostic.help("did you mean `{}`?", *near + "." + rest)
        .fix({span.source, span.begin, span.begin + uint32_t(qualifier.size())}, *near);
    return true;
  }
  if (diagnostics::is_foreign_package(qualifier)) return true;
  if (!is_path) return !cx.told.qualifiers.contains({module, qualifier});
  if (!cx.told.qualifiers.emplace(module, qualifier).second) return false;
  diagnostic.note("no file is imported as `{}`: `import \"FILE.ltr\" as {}`", qualifier, qualifier);
  return true;
}

bool help_of_module(diagnostics::Diagnostic& diagnostic, const ast::Name& name, uint32_t module, Context& cx) {
  for (const auto& [alias, target] : cx.graph.modules[module].aliases) {
    if (name.text.starts_with("_") || !cx.graph.modules[target].symbols.contains(name.text)) continue;
    const std::string code = alias + "." + name.text;
    diagnostic.help("it is in the file that is imported: `{}`", code).fix(name.span, code);
    return true;
  }
  return false;
}

}  // namespace ltr::check
