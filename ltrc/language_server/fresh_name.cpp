#include "ltrc/language_server/fresh_name.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/scope/places.h"
#include "dsl/check/types/types.h"
#include "dsl/lex/lex.h"
#include "ltrc/language_pages.h"
#include "runtime/tables/roles.h"

namespace ltr::language_server {

namespace {

/// Who mentions a name, beside the code of its program.
enum class Mentions { Weights, Strings, Anywhere };

/// Of members and parameters that is strings that say which weights they mean; others may stand in any string.
Mentions mentions_of(const Entity& entity, const resolve::Module& main) {
  switch (entity.kind) {
    case EntityKind::Local:
    case EntityKind::Binder:
    case EntityKind::Const:
    case EntityKind::Type:
    case EntityKind::Block:
    case EntityKind::Metric:
    case EntityKind::Model:
    case EntityKind::Data:
    case EntityKind::Member:
    case EntityKind::Method: return Mentions::Weights;
    case EntityKind::Function: {
      const bool is_extern = entity.decl == nullptr || entity.decl->get<ast::Fn>() == nullptr;
      return is_extern ? Mentions::Anywhere : Mentions::Weights;
    }
    case EntityKind::Param: {
      const auto around = main.symbols.find(entity.container);
      const bool is_op = around != main.symbols.end() && around->second.kind == resolve::SymbolKind::Op;
      return is_op ? Mentions::Anywhere : Mentions::Weights;
    }
    case EntityKind::Hparam:
    case EntityKind::Callback:
    case EntityKind::Topology:
    case EntityKind::Experiment:
    case EntityKind::State: return Mentions::Strings;
    case EntityKind::Series:  // which values are better may follow from its name
    case EntityKind::Module:
    case EntityKind::Step:
    case EntityKind::Stream:
    case EntityKind::Field: return Mentions::Anywhere;
  }
  return Mentions::Anywhere;
}

/// Names of types and dims, and those that begin with `_`, are told by how they begin.
bool begins_alike(const std::string& left, const std::string& right) {
  const auto is_upper = [](const std::string& word) { return std::isupper(static_cast<unsigned char>(word[0])) != 0; };
  return is_upper(left) == is_upper(right) && (left[0] == '_') == (right[0] == '_');
}

bool is_language_name(const std::string& name) {
  const auto is_it = [&](const auto& row) { return row.name == name; };
  const std::vector<std::string> types = check::type_words();
  return lex::find_word(name) != lex::TokenKind::Name || is_role(name) ||
         std::ranges::any_of(check::kPlaceNames, is_it) || std::ranges::any_of(check::kPlaceFunctions, is_it) ||
         std::ranges::find(types, name) != types.end() || check::element_of(name).has_value() ||
         !driver::find_sections(name).empty();
}

bool is_library_name(const std::string& name) {
  const resolve::ModuleGraph& graph = *whole_library().compilation.graph;
  return std::ranges::any_of(
      std::initializer_list<const std::map<std::string, resolve::Symbol>*>{&graph.prelude, &graph.stages, &graph.texts,
                                                                           &graph.schedules, &graph.setting_values},
      [&](const auto* names) { return names->contains(name); });
}

/// Whether a string on one line of a program holds `name`, or may stand for several, as the file does from which weights come.
bool has_string_of(std::string_view line, const std::string& name) {
  const size_t begin = line.find('"');
  if (begin == std::string_view::npos) return false;
  const std::string_view strings = line.substr(begin, line.rfind('"') + 1 - begin);
  return strings.find(name) != std::string_view::npos || strings.find_first_of("*?[{") != std::string_view::npos ||
         strings.find("\"\"\"") != std::string_view::npos || line.find("from") != std::string_view::npos;
}

/// Whether a string of the program's files may hold its name.
bool may_stand_in_strings(const Snapshot& snapshot, const Entity& entity) {
  return std::ranges::any_of(snapshot.compilation.graph->modules, [&](const resolve::Module& module) {
    if (module.is_library) return false;
    const source::SourceId file = module.ast.source;
    const uint32_t count = snapshot.sources().lines(file).line_count();
    for (uint32_t line = 1; line <= count; ++line) {
      if (has_string_of(snapshot.sources().line_text(file, line), entity.name)) return true;
    }
    return false;
  });
}

}  // namespace

bool is_named_in_strings(const Snapshot& snapshot, const Entity& entity) {
  // A block that is given has weights, too.
  const bool has_weights = entity.kind == EntityKind::Member || entity.kind == EntityKind::Param;
  return has_weights && may_stand_in_strings(snapshot, entity);
}

bool is_fresh(const Snapshot& snapshot, const Entity& entity, const std::string& name) {
  const resolve::ModuleGraph& graph = *snapshot.compilation.graph;
  const Mentions mentions = mentions_of(entity, graph.modules[0]);
  const bool is_told = mentions == Mentions::Strings
                           ? may_stand_in_strings(snapshot, entity)
                           : mentions == Mentions::Anywhere || is_named_in_strings(snapshot, entity);
  // Of the options of every program only `seed` may be an hparam, and is one of its own kind.
  const bool is_option = entity.kind == EntityKind::Hparam && (check::is_option(name) || check::is_option(entity.name));
  const bool may_be = !is_told && !is_option && entity.module == 0 && !snapshot.compilation.has_errors() &&
                      !entity.name.empty() && begins_alike(entity.name, name) && !is_language_name(name) &&
                      !is_library_name(name);
  if (!may_be) return false;
  for (const resolve::Module& module : graph.modules) {
    // The part of another word that is the name does no harm, but for one more check.
    if (!module.is_library && snapshot.sources().text(module.ast.source).find(name) != std::string_view::npos)
      return false;
  }
  diagnostics::Sink sink;
  const lex::TokenBuffer buffer = lex::lex(kMain, snapshot.text(), sink);
  return std::ranges::all_of(buffer.tokens, [&](const lex::Token& token) {
    const bool is_named_so = lex::is_word(token.kind) && snapshot.sources().text(token.span) == entity.name;
    const Use* use = is_named_so ? snapshot.index->use_at(kMain, token.span.end) : nullptr;
    return !is_named_so || (use != nullptr && use->span == token.span);
  });
}

}  // namespace ltr::language_server
