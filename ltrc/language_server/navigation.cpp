#include <fmt/core.h>

#include <set>
#include <stdexcept>

#include "dsl/lex/lex.h"
#include "ltrc/language_server/features.h"

namespace ltr::language_server {

namespace {

/// What makes two entities of different snapshots the same. Offsets may differ: a file that another
/// imports is read as it was saved.
using Identity = std::tuple<std::string, EntityKind, std::string, std::string>;

Identity identity_of(const Entity& entity, const Snapshot& snapshot) {
  return {openable(snapshot.sources().path(entity.span.source)), entity.kind, entity.container, entity.name};
}

struct Found {
  const Snapshot* snapshot;
  const Use* use;
};

/// All uses of the entity at `offset`, each place once, by file and position.
std::vector<Found> find_all(const Snapshot& snapshot, uint32_t offset, const Others& others) {
  const Use* use = snapshot.index->use_at(kMain, offset);
  if (use == nullptr) return {};
  const Entity& entity = snapshot.index->entity(use->entity);
  // What stands inside a function is seen nowhere else.
  const bool is_inner = entity.kind == EntityKind::Local || entity.kind == EntityKind::Binder;
  std::vector<Found> found;
  std::set<std::string> covered;
  if (!is_inner) {
    const Identity wanted = identity_of(entity, snapshot);
    for (const Snapshot* other : others()) {
      covered.insert(other->path);
      for (const Use& one : other->index->uses()) {
        const Entity& candidate = other->index->entity(one.entity);
        const bool is_it =
            one.span.source == kMain && candidate.name == entity.name && identity_of(candidate, *other) == wanted;
        if (is_it) found.push_back({other, &one});
      }
    }
  }
  std::set<Span> seen;
  for (const Use& one : snapshot.index->uses()) {
    if (one.entity != use->entity || !seen.insert(one.span).second) continue;
    // A file that was looked at for itself is known better so.
    if (!covered.contains(openable(snapshot.sources().path(one.span.source)))) found.push_back({&snapshot, &one});
  }
  return found;
}

/// Names with a meaning of their own: the compiler or the data asks for them.
const char* why_fixed(const Entity& entity, const Snapshot& snapshot) {
  static const std::set<std::string> kCalled = {"forward", "update", "compute"};
  if (snapshot.compilation.graph->modules[entity.module].is_library) return "is a name of the library";
  if (entity.kind == EntityKind::Step || entity.kind == EntityKind::Stream)
    return "is a role, which has its name from the language";
  if (entity.kind == EntityKind::Method && kCalled.contains(entity.name))
    return "is called by the language under this name";
  if (entity.kind == EntityKind::Field) return "is a field; records that are built elsewhere must have the same name";
  if (entity.kind == EntityKind::Param && lex::is_keyword(lex::find_word(entity.container)))
    return "is the field of a batch that this step reads";
  return nullptr;
}

const Use& renamable(const Snapshot& snapshot, uint32_t offset) {
  const Use* use = snapshot.index->use_at(kMain, offset);
  if (use == nullptr) throw std::runtime_error("there is no name here that can be changed");
  const Entity& entity = snapshot.index->entity(use->entity);
  if (const char* why = why_fixed(entity, snapshot)) throw std::runtime_error(fmt::format("`{}` {}", entity.name, why));
  return *use;
}

bool is_name(const std::string& word) {
  diagnostics::Sink sink;
  const lex::TokenBuffer buffer = lex::lex(kMain, word, sink);
  return !sink.has_errors() && !buffer.tokens.empty() && lex::is_name(buffer.tokens[0].kind) &&
         buffer.tokens[0].span.end == word.size();
}

}  // namespace

Json definition(const Snapshot& snapshot, uint32_t offset) {
  const Use* use = snapshot.index->use_at(kMain, offset);
  return use != nullptr ? snapshot.location(snapshot.index->entity(use->entity).span) : nullptr;
}

Json type_definition(const Snapshot& snapshot, uint32_t offset) {
  const Use* use = snapshot.index->use_at(kMain, offset);
  const TypedPlace* typed = use != nullptr ? snapshot.index->typed(use->span) : snapshot.index->typed_at(kMain, offset);
  const resolve::Symbol* symbol = typed != nullptr ? symbol_of(*typed->type, snapshot.compilation) : nullptr;
  return symbol != nullptr ? snapshot.location(symbol->span) : nullptr;
}

Json highlights(const Snapshot& snapshot, uint32_t offset) {
  Json result = Json::array();
  for (const Found& found : find_all(snapshot, offset, [] { return std::vector<const Snapshot*>{}; })) {
    if (found.use->span.source != kMain) continue;
    result.push_back({{"range", snapshot.range(found.use->span)}, {"kind", found.use->is_write ? 3 : 2}});
  }
  return result;
}

Json references(const Snapshot& snapshot, uint32_t offset, bool with_declaration, const Others& others) {
  Json result = Json::array();
  for (const Found& found : find_all(snapshot, offset, others)) {
    if (found.use->is_definition && !with_declaration) continue;
    result.push_back(found.snapshot->location(found.use->span));
  }
  return result;
}

Json prepare_rename(const Snapshot& snapshot, uint32_t offset) {
  const Use& use = renamable(snapshot, offset);
  return {{"range", snapshot.range(use.span)}, {"placeholder", snapshot.index->entity(use.entity).name}};
}

Json rename(const Snapshot& snapshot, uint32_t offset, const std::string& name, const Others& others) {
  const Entity& entity = snapshot.index->entity(renamable(snapshot, offset).entity);
  if (!is_name(name)) throw std::runtime_error(fmt::format("`{}` is not a name", name));
  std::map<std::string, std::map<Span, std::string>> by_uri;
  std::string renamed(snapshot.text());
  for (const Found& found : find_all(snapshot, offset, others)) {
    const Json location = found.snapshot->location(found.use->span);
    // `log loss` keeps the name of the series.
    const std::string text = found.use->is_shorthand ? entity.name + " = " + name : name;
    by_uri[location["uri"].get<std::string>()][found.use->span] = text;
  }
  Json changes = Json::object();
  for (const auto& [uri, edits] : by_uri) {
    Json list = Json::array();
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
      const auto& [span, text] = *edit;
      if (uri == uri_of(snapshot.path)) renamed.replace(span.begin, span.end - span.begin, text);
    }
    changes[uri] = std::move(list);
  }
  for (const Found& found : find_all(snapshot, offset, others)) {
    Json location = found.snapshot->location(found.use->span);
    const std::string uri = location["uri"].get<std::string>();
    changes[uri].push_back({{"range", location["range"]}, {"newText", by_uri[uri][found.use->span]}});
  }
  // A new name may hide another or be hidden; whatever goes wrong, it shows as a mistake.
  const auto before = snapshot.compilation.sink->error_count();
  const auto after = take_snapshot(snapshot.path, renamed);
  if (by_uri.size() == 1 && after->compilation.sink->error_count() > before) {
    for (const diagnostics::Diagnostic& diagnostic : after->compilation.sink->sorted()) {
      if (diagnostic.severity == diagnostics::Severity::Error)
        throw std::runtime_error(fmt::format("as `{}` it would be wrong: {}", name, diagnostic.message));
    }
  }
  return {{"changes", std::move(changes)}};
}

}  // namespace ltr::language_server
