#include <fmt/core.h>

#include <set>
#include <stdexcept>

#include "dsl/lex/lex.h"
#include "ltrc/language_server/features.h"
#include "ltrc/language_server/fresh_name.h"

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

bool is_of_metric(const Entity& entity, const Snapshot& snapshot) {
  const auto& symbols = snapshot.compilation.graph->modules[entity.module].symbols;
  const auto around = symbols.find(entity.container);
  return around != symbols.end() && around->second.kind == resolve::SymbolKind::Metric;
}

/// Names with a meaning of their own: the compiler or the data asks for them.
const char* why_fixed(const Entity& entity, const Snapshot& snapshot) {
  static const std::set<std::string> kCalled = {"forward", "update", "compute", "compute_each"};
  if (snapshot.compilation.graph->modules[entity.module].is_library) return "is a name of the library";
  if (entity.kind == EntityKind::Step || entity.kind == EntityKind::Stream)
    return "is a role, which has its name from the language";
  const bool is_direction =
      entity.kind == EntityKind::Member && entity.name == "better" && is_of_metric(entity, snapshot);
  if (is_direction || (entity.kind == EntityKind::Method && kCalled.contains(entity.name)))
    return "is asked for by the language under this name";
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

/// A new name may hide another or be hidden; whatever goes wrong, it shows as a mistake that was not there.
void refuse_clash(const Snapshot& snapshot, const std::map<Span, std::string>& edits, const std::string& name) {
  std::string renamed(snapshot.text());
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit)
    renamed.replace(edit->first.begin, edit->first.end - edit->first.begin, edit->second);
  driver::Compilation after;
  driver::check_text(snapshot.path, std::move(renamed), after);
  if (snapshot.is_complete) driver::check_whole(after);
  if (after.sink->error_count() <= snapshot.compilation.sink->error_count()) return;
  for (const diagnostics::Diagnostic& diagnostic : after.sink->sorted()) {
    if (diagnostic.severity == diagnostics::Severity::Error)
      throw std::runtime_error(fmt::format("as `{}` it would be wrong: {}", name, diagnostic.message));
  }
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

bool is_named_in_strings(const Snapshot& snapshot, uint32_t offset) {
  const Use* use = snapshot.index->use_at(kMain, offset);
  return use != nullptr && is_named_in_strings(snapshot, snapshot.index->entity(use->entity));
}

Json rename(const Snapshot& snapshot, uint32_t offset, const std::string& name, const Others& others) {
  const Entity& entity = snapshot.index->entity(renamable(snapshot, offset).entity);
  if (!is_name(name)) throw std::runtime_error(fmt::format("`{}` is not a name", name));
  Json changes = Json::object();
  std::map<Span, std::string> here;
  for (const Found& found : find_all(snapshot, offset, others)) {
    Json location = found.snapshot->location(found.use->span);
    const std::string uri = location["uri"].get<std::string>();
    // `log loss` is a series and its value: the other one keeps its name.
    const bool is_series = entity.kind == EntityKind::Series;
    const std::string both = is_series ? name + " = " + entity.name : entity.name + " = " + name;
    const std::string text = found.use->is_shorthand ? both : name;
    changes[uri].push_back({{"range", location["range"]}, {"newText", text}});
    if (uri == uri_of(snapshot.path)) here[found.use->span] = text;
  }
  // Where other files change as well, this one alone would not fit to them.
  if (changes.size() == 1 && !is_fresh(snapshot, entity, name)) refuse_clash(snapshot, here, name);
  return {{"changes", std::move(changes)}};
}

}  // namespace ltr::language_server
