#include "dsl/resolve/resolve.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "dsl/diagnostics/load_source.h"
#include "dsl/diagnostics/suggest.h"
#include "dsl/parse/parse.h"
#include "dsl/resolve/kept_trees.h"

namespace ltr::resolve {

namespace {

struct Resolver {
  source::SourceManager& sources;
  diagnostics::Sink& sink;
  const std::vector<std::string>& folders;
  ModuleGraph graph;
  std::map<std::string, uint32_t> by_path;
  std::vector<uint32_t> loading;  // Modules whose imports are being followed, for cycles.

  void declare(uint32_t index, std::map<std::string, Symbol>& into, SymbolKind kind, const ast::Name& name,
               const ast::Decl& decl, const ast::Fn* fn = nullptr, const std::string& extern_file = "",
               const std::string& doc = "") {
    if (name.text.empty()) return;
    Symbol symbol{kind, name.text, index, &decl, fn, extern_file, doc.empty() ? decl.doc : doc, name.span};
    const auto [place, is_new] = into.try_emplace(name.text, symbol);
    if (is_new) return;
    sink.report(diag::duplicate_name(name.span, name.text).label(place->second.span, "first here"));
    if (place->second.kind != kind) place->second = poison(name);  // Nobody knows which of them a use means.
  }

  void declare_all(uint32_t index) {
    Module& module = graph.modules[index];
    for (const ast::Decl& decl : module.ast.decls) {
      auto& symbols = module.symbols;
      if (const auto* d = decl.get<ast::ErrorDecl>()) {
        for (const ast::Name& name : d->names) {
          for (auto* names : {&symbols, &module.topologies, &module.experiments})
            names->try_emplace(name.text, poison(name));
        }
      }
      if (const auto* d = decl.get<ast::Hparam>()) declare(index, symbols, SymbolKind::Hparam, d->name, decl);
      if (const auto* d = decl.get<ast::TypeName>()) declare(index, symbols, SymbolKind::Type, d->name, decl);
      if (const auto* d = decl.get<ast::Const>()) declare(index, symbols, SymbolKind::Const, d->name, decl);
      if (const auto* d = decl.get<ast::Fn>()) declare(index, symbols, SymbolKind::Fn, d->name, decl, d);
      if (const auto* d = decl.get<ast::Metric>()) declare(index, symbols, SymbolKind::Metric, d->name, decl);
      if (const auto* d = decl.get<ast::Data>()) declare(index, symbols, SymbolKind::Data, d->name, decl);
      if (const auto* d = decl.get<ast::Block>()) declare(index, symbols, SymbolKind::Block, d->name, decl);
      if (const auto* d = decl.get<ast::Model>()) declare(index, symbols, SymbolKind::Model, d->name, decl);
      if (const auto* d = decl.get<ast::Callback>()) declare(index, symbols, SymbolKind::Callback, d->name, decl);
      if (const auto* d = decl.get<ast::Topology>())
        declare(index, module.topologies, SymbolKind::Topology, d->name, decl);
      if (const auto* d = decl.get<ast::Experiment>())
        declare(index, module.experiments, SymbolKind::Experiment, d->name, decl);
      if (const auto* d = decl.get<ast::Extern>()) {
        for (const ast::ExternFn& fn : d->fns)
          declare(index, symbols, SymbolKind::Op, fn.signature.name, decl, &fn.signature, d->file, fn.doc);
      }
    }
  }

  uint32_t add(ast::Module module, std::string path, bool is_library) {
    const uint32_t index = uint32_t(graph.modules.size());
    graph.modules.emplace_back();
    Module& added = graph.modules.back();
    added.ast = std::move(module);
    added.path = std::move(path);
    added.is_library = is_library;
    declare_all(index);
    return index;
  }

  /// Stands for a name whose declaration or import failed: its uses are no mistakes of their own.
  static Symbol poison(const ast::Name& name) {
    Symbol symbol;
    symbol.name = name.text;
    symbol.span = name.span;
    return symbol;
  }

  static bool is_named(const ast::TypeExpr& type, const char* name) {
    if (const auto* applied = type.get<ast::AppliedType>())
      return applied->name.text == name || is_named(*applied->argument, name);
    const auto* named = type.get<ast::NamedType>();
    return named != nullptr && named->name.text == name;
  }

  /// Library functions are sorted by what they are for, so that `split` of a stream, of a tensor and of a text coexist.
  void share(uint32_t index) {
    const bool is_text = graph.modules[index].path.find("/str/") != std::string::npos;
    for (const auto& [name, symbol] : graph.modules[index].symbols) {
      if (name.starts_with("_")) continue;
      if (is_text) {
        graph.texts[name] = symbol;
        continue;
      }
      const ast::Fn* fn = symbol.fn;
      const bool is_stage = fn != nullptr && ((fn->result && is_named(*fn->result, "stream")) ||
                                              (!fn->params.empty() && is_named(fn->params[0].type, "stream")));
      if (is_stage) {
        graph.stages[name] = symbol;
      } else if (fn != nullptr && fn->result && is_named(*fn->result, "schedule")) {
        graph.schedules[name] = symbol;
      } else if (fn != nullptr && fn->result &&
                 (is_named(*fn->result, "trainer_value") || is_named(*fn->result, "draw") ||
                  is_named(*fn->result, "receiver"))) {
        graph.setting_values[name] = symbol;
      } else {
        graph.prelude[name] = symbol;
      }
    }
  }

  /// `text` is that of the file, or what is needed of it.
  uint32_t load(const source::EmbeddedFile& file, std::string_view text) {
    const std::string path = "std/" + std::string(file.name);
    const source::SourceId id = sources.add(path, std::string(file.text));
    const uint32_t index = add(parse_library(file, id, text, sink), path, true);
    by_path[path] = index;
    return index;
  }

  /// What all may use of the library. `main_name` is the file of it that is the program itself, if it is one: it stands for
  /// its embedded text, which has no tests.
  void load_library(const std::string& main_name, Reach reach) {
    std::vector<std::string_view> texts;
    for (const Module& module : graph.modules) texts.push_back(sources.text(module.ast.source));
    const auto has_experiment = [](const Module& module) { return !module.experiments.empty(); };
    if (std::ranges::any_of(graph.modules, has_experiment))
      texts.insert(texts.end(), std::begin(kImpliedCallbacks), std::end(kImpliedCallbacks));
    std::map<size_t, std::string> needed;
    if (reach == Reach::Mentioned) needed = LibraryIndex::get().needed_by(texts);
    for (size_t i = 0; i < library_texts.size(); i++) {
      const source::EmbeddedFile& file = library_texts[i];
      if (is_imported_only(file.name)) continue;
      const auto known = by_path.find("std/" + std::string(file.name));
      if (file.name == main_name)
        share(0);
      else if (known != by_path.end())
        share(known->second);
      else if (reach == Reach::Whole)
        share(load(file, file.text));
      else if (const auto text = needed.find(i); text != needed.end())
        share(load(file, text->second));
    }
  }

  /// One name of `import file.{name}`, in each name space that has it. False if none has.
  bool take_name(uint32_t index, const ast::Name& name, const Names& from) {
    const Names& own = graph.modules[index];
    Names& imported = graph.modules[index].imported;
    bool is_there = false;
    for (const auto names : {&Names::symbols, &Names::topologies, &Names::experiments}) {
      const auto found = (from.*names).find(name.text);
      if (found == (from.*names).end() || name.text.starts_with("_")) continue;
      is_there = true;
      if (const auto declared = (own.*names).find(name.text);
          declared != (own.*names).end() && declared->second.kind != SymbolKind::Error) {
        sink.report(diag::duplicate_name(declared->second.span, name.text).label(name.span, "imported already"));
        continue;
      }
      const auto [place, is_new] = (imported.*names).try_emplace(name.text, found->second);
      if (!is_new && place->second.decl != found->second.decl && place->second.kind != SymbolKind::Error)
        sink.report(diag::duplicate_name(name.span, name.text).label(place->second.span, "imported already"));
    }
    return is_there;
  }

  void take_names(uint32_t index, const ast::Import& import, const Names& from, const std::string& what) {
    for (const ast::Name& name : import.names) {
      if (take_name(index, name, from)) continue;
      std::vector<std::string> known;
      for (const auto* names : {&from.symbols, &from.topologies, &from.experiments}) {
        for (const auto& [candidate, symbol] : *names) {
          if (!candidate.starts_with("_")) known.push_back(candidate);
        }
      }
      // The rest of the file may be right, and use what was meant.
      if (const auto near = diagnostics::suggest(name.text, known)) take_name(index, {*near, name.span}, from);
      diagnostics::Diagnostic diagnostic = diag::unknown_field(name.span, what, name.text);
      if (!did_you_mean(diagnostic, name.text, name.span, known) && !known.empty())
        diagnostic.note("{}", diagnostics::what_it_has(name.text, std::move(known)));
      sink.report(std::move(diagnostic));
      take_poison(index, name);
    }
  }

  /// Uses of what could not be imported are no mistakes of their own.
  void take_poison(uint32_t index, const ast::Name& name) {
    Names& imported = graph.modules[index].imported;
    for (auto* names : {&imported.symbols, &imported.topologies, &imported.experiments})
      names->try_emplace(name.text, poison(name));
  }
  void take_poison(uint32_t index, const ast::Import& import) {
    for (const ast::Name& name : import.names) take_poison(index, name);
    if (const auto alias = alias_of(import)) take_poison(index, *alias);
  }

  void import_library(uint32_t index, const ast::Import& import) {
    std::string folder;
    for (size_t i = 1; i < import.path.size(); ++i)
      folder += import.path[i].text + (i + 1 < import.path.size() ? "/" : "");
    Names found;
    for (const source::EmbeddedFile& file : library_texts) {
      if (file.name.starts_with(folder + "/") && !by_path.contains("std/" + std::string(file.name)))
        follow(load(file, file.text));
    }
    for (const auto& [path, module] : by_path) {
      const std::string prefix = "std/" + folder;
      if (path.starts_with(prefix + "/") || path == prefix + ".ltr") {
        for (const auto& [name, symbol] : graph.modules[module].symbols) found.symbols[name] = symbol;
      }
    }
    const ast::Name& last = import.path.back();
    if (found.symbols.empty()) {
      report_no_module(folder, import);
      return take_poison(index, import);
    }
    if (const auto alias = alias_of(import)) {
      graph.modules[index].aliases[alias->text] = uint32_t(graph.modules.size());
      Module& folder_of_files = graph.modules.emplace_back();
      folder_of_files.ast.source = found.symbols.begin()->second.span.source;
      folder_of_files.path = "std/" + folder;
      folder_of_files.is_library = true;
      folder_of_files.symbols = found.symbols;
    }
    take_names(index, import, found, "module `std." + folder + "`");
  }

  /// What the whole module is called in the file that imports it.
  static std::optional<ast::Name> alias_of(const ast::Import& import) {
    return import.alias || import.has_names ? import.alias : std::optional(import.path.back());
  }

  void report_no_module(const std::string& folder, const ast::Import& import) {
    const ast::Name& last = import.path.back();
    const source::Span span = import.path.size() > 1 ? source::join(import.path[1].span, last.span) : last.span;
    std::set<std::string> modules;
    for (const source::EmbeddedFile& file : library_texts) {
      const std::string name(file.name.substr(0, file.name.rfind('.')));
      modules.insert(name.substr(0, name.rfind('/')));
      modules.insert(name);
    }
    const std::vector<std::string> known(modules.begin(), modules.end());
    const auto dotted = [](std::string name) {
      std::replace(name.begin(), name.end(), '/', '.');
      return name;
    };
    diagnostics::Diagnostic diagnostic = diag::file_not_found(span, "of a module `std." + dotted(folder) + "`");
    const std::string module = LibraryIndex::module_of(last.text);
    if (!module.empty() && "std." + dotted(folder) == module + "." + last.text) {
      const std::string braced = "{" + last.text + "}";
      diagnostic.help("what is in a module is named in braces: `import {}.{}`", module, braced).fix(last.span, braced);
    } else if (const auto near = diagnostics::suggest(folder, known)) {
      diagnostic.help("did you mean `std.{}`?", dotted(*near)).guess(span, dotted(*near));
    } else {
      std::string list;
      for (const std::string& name : known) {
        if (name.find('/') == std::string::npos) list += (list.empty() ? "std." : ", std.") + name;
      }
      diagnostic.note("there are {}", list);
    }
    sink.report(std::move(diagnostic));
  }

  /// `import "file" as name`, `import a.b` and `import a.b.{c}`.
  void import_file(uint32_t index, const ast::Import& import, source::Span span) {
    std::string file = import.file.value_or("");
    for (const ast::Name& part : import.path) file += (file.empty() ? "" : "/") + part.text;
    if (!import.file) file += ".ltr";
    const std::optional<uint32_t> target = load_file(index, file, import.file ? span : path_span(import));
    const std::optional<ast::Name> alias = alias_of(import);
    if (!target) {
      take_poison(index, import);
      if (alias) take_poison(index, *alias);
      if (alias) graph.modules[index].lost_import = poison(*alias);
      return;
    }
    if (alias) graph.modules[index].aliases[alias->text] = *target;
    take_names(index, import, graph.modules[*target], "`" + file + "`");
  }

  static source::Span path_span(const ast::Import& import) {
    return source::join(import.path.front().span, import.path.back().span);
  }

  /// Where `file` lies: beside the one that imports it, or in one of the folders of the project. The first place if it is in none.
  std::vector<std::string> places_of(uint32_t index, const std::string& file) const {
    namespace fs = std::filesystem;
    std::vector<std::string> places = {
        (fs::path(graph.modules[index].path).parent_path() / file).lexically_normal().string()};
    for (const std::string& folder : folders) places.push_back((fs::path(folder) / file).lexically_normal().string());
    return places;
  }

  /// `file` as it would be written if the nearest file beside one of its places were meant.
  static std::optional<std::string> near_file(const std::string& file, const std::vector<std::string>& places) {
    namespace fs = std::filesystem;
    std::vector<std::string> known;
    for (const std::string& place : places) {
      std::error_code ignored;
      const fs::path folder = fs::path(place).has_parent_path() ? fs::path(place).parent_path() : fs::path(".");
      for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.path().extension() == ".ltr") known.push_back(entry.path().stem().string());
      }
    }
    std::sort(known.begin(), known.end());
    const auto near = diagnostics::suggest(fs::path(file).stem().string(), known);
    if (!near) return std::nullopt;
    return (fs::path(file).parent_path() / (*near + ".ltr")).string();
  }

  std::optional<uint32_t> load_file(uint32_t index, const std::string& file, source::Span span) {
    namespace fs = std::filesystem;
    const std::vector<std::string> places = places_of(index, file);
    const auto found = std::find_if(places.begin(), places.end(), [&](const std::string& place) {
      std::error_code ignored;
      return by_path.contains(place) || fs::exists(place, ignored);
    });
    if (found == places.end()) {
      diagnostics::Diagnostic diagnostic = diag::file_not_found(span, file);
      for (const std::string& place : places) diagnostic.note("looked for {}", place);
      const fs::path outer = fs::path(file).parent_path();
      const std::string outer_file = outer.string() + ".ltr";
      const bool is_name_of_file =
          !outer.empty() && std::ranges::any_of(places_of(index, outer_file), [](const auto& one) {
            std::error_code ignored;
            return fs::exists(one, ignored);
          });
      if (is_name_of_file) {
        std::string path = outer.string();
        std::replace(path.begin(), path.end(), '/', '.');
        diagnostic.help("what a file declares is named in braces: `import {}.{}`", path,
                        "{" + fs::path(file).stem().string() + "}");
      } else if (const auto near = near_file(file, places)) {
        diagnostic.help("did you mean \"{}\"?", *near);
      }
      sink.report(std::move(diagnostic));
      return std::nullopt;
    }
    const std::string& path = *found;
    uint32_t target = 0;
    if (const auto known = by_path.find(path); known != by_path.end()) {
      target = known->second;
      if (const auto first = std::find(loading.begin(), loading.end(), target); first != loading.end()) {
        std::string circle = path + " imports ";
        for (auto at = first + 1; at != loading.end(); ++at) circle += graph.modules[*at].path + ", which imports ";
        const bool is_alone = first + 1 == loading.end();
        const std::string cure = is_alone ? "leave the import out: what a file declares is in scope in all of it"
                                          : "move what these files share into one that imports none of them";
        sink.report(diag::import_cycle(span, circle + (is_alone ? "itself" : path)).help("{}", cure));
        return std::nullopt;
      }
      return target;
    }
    const auto id = diagnostics::load_source(path, sources, sink);
    if (!id) return std::nullopt;
    target = add(parse::parse(*id, sources, sink), path, false);
    by_path[path] = target;
    follow(target);
    return target;
  }

  void follow(uint32_t index) {
    loading.push_back(index);
    for (size_t i = 0; i < graph.modules[index].ast.decls.size(); ++i) {
      const ast::Decl& decl = graph.modules[index].ast.decls[i];
      const auto* import = decl.get<ast::Import>();
      if (import == nullptr) continue;
      if (decl.is_damaged) {
        take_poison(index, *import);
        for (const ast::Name& name : import->names) {
          if (name.text == "*") graph.modules[index].lost_import = poison(name);
        }
      } else if (!import->path.empty() && import->path[0].text == "std") {
        import_library(index, *import);
      } else if (import->file || !import->path.empty()) {
        import_file(index, *import, decl.span);
      }
    }
    loading.pop_back();
  }
};

}  // namespace

namespace {

/// The name of the library's file that lies at `path`, `tensor/pool.ltr`, or nothing.
std::string library_name(const std::string& path) {
  std::error_code ignored;
  const std::string whole = std::filesystem::absolute(path, ignored).lexically_normal().string();
  for (const source::EmbeddedFile& file : library_texts) {
    if (whole.ends_with("/stdlib/" + std::string(file.name))) return std::string(file.name);
  }
  return "";
}

}  // namespace

ModuleGraph resolve(ast::Module main, source::SourceManager& sources, diagnostics::Sink& sink, Reach reach,
                    const std::vector<std::string>& folders) {
  Resolver resolver{.sources = sources, .sink = sink, .folders = folders};
  const std::string path(sources.path(main.source));
  const std::string name = library_name(path);
  resolver.by_path[std::filesystem::path(path).lexically_normal().string()] =
      resolver.add(std::move(main), path, !name.empty());
  if (!name.empty()) resolver.by_path["std/" + name] = 0;
  resolver.follow(0);
  resolver.load_library(name, reach);
  return std::move(resolver.graph);
}

}  // namespace ltr::resolve
