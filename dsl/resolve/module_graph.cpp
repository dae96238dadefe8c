// What names mean in the modules of a program.

#include <algorithm>
#include <filesystem>
#include <set>

#include "dsl/resolve/library.h"
#include "dsl/resolve/resolve.h"

namespace ltr::resolve {

namespace fs = std::filesystem;

namespace {

const std::map<std::string, Symbol>& names_of(const Names& names, Space space) {
  switch (space) {
    case Space::Symbols: return names.symbols;
    case Space::Topologies: return names.topologies;
    case Space::Experiments: return names.experiments;
  }
  return names.symbols;
}

}  // namespace

std::string ModuleGraph::shown(const Symbol& symbol) const {
  const bool is_named = symbol.kind == SymbolKind::Model || symbol.kind == SymbolKind::Callback;
  if (!is_named || modules[symbol.module].is_library) return symbol.name;
  // Where other files may mean the library's, a callback of the program's own is told from it.
  const bool is_of_program = symbol.module == 0;
  const auto is_other_file = [&](const Module& one) { return &one != &modules[0] && !one.is_library; };
  if (is_of_program && std::ranges::none_of(modules, is_other_file)) return symbol.name;
  const auto end_of = [&](uint32_t module, size_t parts) {
    std::string text;
    for (fs::path at = fs::path(modules[module].path).replace_extension(); parts > 0 && at.has_filename(); --parts) {
      text = at.filename().string() + (text.empty() ? "" : "." + text);
      at = at.parent_path();
    }
    return text;
  };
  bool is_alone = true;
  size_t parts = 1;
  for (uint32_t module = 0; module < modules.size(); ++module) {
    const auto other = modules[module].symbols.find(symbol.name);
    if (module == symbol.module || other == modules[module].symbols.end() || other->second.module != module) continue;
    if (!modules[module].is_library && (other->second.kind != symbol.kind || is_of_program)) continue;
    is_alone = false;
    while (end_of(module, parts) == end_of(symbol.module, parts) && parts < modules[module].path.size()) ++parts;
  }
  return is_alone ? symbol.name : end_of(symbol.module, parts) + "." + symbol.name;
}

const Symbol* ModuleGraph::find(uint32_t module, const std::string& name, Space space) const {
  const Module& from = modules[module];
  const auto look = [&](const std::map<std::string, Symbol>& names, const std::string& wanted) -> const Symbol* {
    const auto found = names.find(wanted);
    return found == names.end() ? nullptr : &found->second;
  };
  if (const size_t dot = name.find('.'); dot != std::string::npos) {
    const auto alias = from.aliases.find(name.substr(0, dot));
    const std::string rest = name.substr(dot + 1);
    if (alias != from.aliases.end() && !rest.starts_with("_"))
      return look(names_of(modules[alias->second], space), rest);
    // What could not be imported, or not be read, may have been a file of this name.
    for (const Names* names : {&from.imported, static_cast<const Names*>(&from)}) {
      const Symbol* failed = look(names->symbols, name.substr(0, dot));
      if (failed != nullptr && failed->kind == SymbolKind::Error) return failed;
    }
    return alias == from.aliases.end() && from.lost_import ? &*from.lost_import : nullptr;
  }
  if (const Symbol* own = look(names_of(from, space), name)) return own;
  if (const Symbol* taken = look(names_of(from.imported, space), name)) return taken;
  const Symbol* shared = space == Space::Symbols ? look(prelude, name) : nullptr;
  // An import of `*`, which is none, may have brought any name.
  const bool may_be_lost = shared == nullptr && from.lost_import && from.lost_import->name == "*";
  return may_be_lost ? &*from.lost_import : shared;
}

const std::vector<std::string>& ModuleGraph::visible(uint32_t module, Space space) const {
  const auto [place, is_new] = visible_.try_emplace({module, space});
  if (!is_new) return place->second;
  std::set<std::string> names;
  // Of what could not be read or imported nobody knows whether it is a topology.
  const auto is_of_space = [&](const Symbol& one) { return space == Space::Symbols || one.kind != SymbolKind::Error; };
  for (const Names* all : {static_cast<const Names*>(&modules[module]), &modules[module].imported}) {
    for (const auto& [name, symbol] : names_of(*all, space)) {
      if (is_of_space(symbol)) names.insert(name);
    }
  }
  for (const auto& [alias, index] : modules[module].aliases) {
    if (space == Space::Symbols) names.insert(alias);
    for (const auto& [name, symbol] : names_of(modules[index], space)) {
      if (!name.starts_with("_") && is_of_space(symbol)) names.insert(alias + "." + name);
    }
  }
  if (space == Space::Symbols) {
    for (std::string& name : LibraryIndex::get().names()) names.insert(std::move(name));
  }
  place->second.assign(names.begin(), names.end());
  return place->second;
}

uint32_t ModuleGraph::module_of(source::SourceId source) const {
  uint32_t index = 0;
  while (index + 1 < modules.size() && !(modules[index].ast.source == source)) ++index;
  return index;
}

}  // namespace ltr::resolve
