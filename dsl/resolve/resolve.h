#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "dsl/ast/decl.h"
#include "dsl/diagnostics/sink.h"
#include "dsl/resolve/library.h"
#include "dsl/source/source_manager.h"

namespace ltr::resolve {

using ast::Span;

enum class SymbolKind {
  Error,
  Hparam,
  Type,
  Const,
  Fn,
  Op,
  Metric,
  Data,
  Block,
  Model,
  Callback,
  Topology,
  Experiment
};

/// A top-level name and what declares it. `fn` is set for `Fn` and `Op` (a function of an `extern`
/// block).
struct Symbol {
  SymbolKind kind = SymbolKind::Error;
  std::string name;
  uint32_t module = 0;
  const ast::Decl* decl = nullptr;
  const ast::Fn* fn = nullptr;
  std::string extern_file;  ///< of an Op: "runtime", or the user's C++ file
  std::string doc;
  Span span;
};
/// Topologies and experiments have name spaces of their own: `experiment mnist` hides no source `mnist`.
struct Names {
  std::map<std::string, Symbol> symbols;
  std::map<std::string, Symbol> topologies;
  std::map<std::string, Symbol> experiments;
};
enum class Space { Symbols, Topologies, Experiments };

/// One file. Its own names are what it declares, `imported` those taken from others, `aliases` whole modules under a name.
struct Module : Names {
  ast::Module ast;
  std::string path;
  bool is_library = false;
  Names imported;
  std::map<std::string, uint32_t> aliases;
  std::optional<Symbol>
      lost_import;  ///< a file that could not be imported: `base.NAME` may be of it, under another name
};

/// All modules of a program. Module 0 is the program's file.
struct ModuleGraph {
  std::deque<Module> modules;
  /// Of the library, what was read of it. Visible everywhere without import.
  std::map<std::string, Symbol> prelude;
  std::map<std::string, Symbol> stages;          ///< library functions over streams, chosen by their first argument
  std::map<std::string, Symbol> texts;           ///< library functions that are methods of text
  std::map<std::string, Symbol> schedules;       ///< read where a schedule is asked for
  std::map<std::string, Symbol> setting_values;  ///< read where a setting of the trainer or an axis of a sweep is

  /// The meaning of `name` in `module`: its own names, its imports, the prelude; or nothing. `b.name` is what the file
  /// imported as `b` declares.
  const Symbol* find(uint32_t module, const std::string& name, Space space = Space::Symbols) const;
  /// All names visible in `module`, for did-you-mean. Gathered once, when somebody asks.
  const std::vector<std::string>& visible(uint32_t module, Space space = Space::Symbols) const;
  /// The name by which a program knows `symbol`. A model or callback of b.ltr whose name another file has for one of its own, or the library
  /// has, is `b.Say`, with as much of the path as tells them apart; the program's own file keeps its names, but for that of a callback of the library's.
  std::string shown(const Symbol& symbol) const;
  /// The module that is read from `source`.
  uint32_t module_of(source::SourceId source) const;

 private:
  mutable std::map<std::pair<uint32_t, Space>, std::vector<std::string>> visible_;
};

/// How much of the library is read: what the program may mention, or all, for who shows what there is.
enum class Reach { Mentioned, Whole };

/// Loads the modules that `main` imports and gives every top-level name its declaration. Reports
/// files that are missing or import each other in a circle, and names declared twice. The syntax
/// trees stay in the graph.
/// Files that stand not beside the one that imports them are looked for in `folders`.
ModuleGraph resolve(ast::Module main, source::SourceManager& sources, diagnostics::Sink& sink,
                    Reach reach = Reach::Mentioned, const std::vector<std::string>& folders = {});

}  // namespace ltr::resolve
