#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ltrc/language_server/snapshot.h"

// What an editor can ask about a snapshot. Each gives the result of the protocol's request of that
// name; null where there is nothing to say.
namespace ltr::language_server {

/// Diagnostics of the main file, and those that lie in files it imports, by URI.
struct Diagnostics {
  Json own = Json::array();
  std::map<std::string, Json> others;
};
Diagnostics diagnostics_of(const Snapshot& snapshot);
/// Fixes of diagnostics that touch `range`, as quick fixes of `uri`.
Json code_actions(const Snapshot& snapshot, const std::string& uri, const Json& range);

Json hover(const Snapshot& snapshot, uint32_t offset);
/// The declaration of an entity in one or a few lines: its signature as written, with its type.
std::string signature_of(const Entity& entity, const Snapshot& snapshot);
Json signature_help(const Snapshot& snapshot, uint32_t offset);
/// `text` is that of the document, which may differ from the snapshot's where the name that is
/// being written was blanked out; places are the same.
Json completion(const Snapshot& snapshot, std::string_view text, uint32_t offset);

Json definition(const Snapshot& snapshot, uint32_t offset);
Json type_definition(const Snapshot& snapshot, uint32_t offset);
Json highlights(const Snapshot& snapshot, uint32_t offset);
/// Snapshots of the other files that may use what this one declares.
using Others = std::function<std::vector<const Snapshot*>()>;
Json references(const Snapshot& snapshot, uint32_t offset, bool with_declaration, const Others& others);
/// What prevents a rename is thrown as std::runtime_error.
Json prepare_rename(const Snapshot& snapshot, uint32_t offset);
/// Whether strings may name what stands there, as a path of weights: to rename it wants a complete snapshot.
bool is_named_in_strings(const Snapshot& snapshot, uint32_t offset);
Json rename(const Snapshot& snapshot, uint32_t offset, const std::string& name, const Others& others);

Json document_symbols(const Snapshot& snapshot);
/// Symbols of `module` whose name holds the letters of `query` in order.
void add_workspace_symbols(const ast::Module& module, const source::SourceManager& sources, const std::string& path,
                           const std::string& query, Json& symbols);
Json folding_ranges(const Snapshot& snapshot);
Json document_links(const Snapshot& snapshot, const std::vector<std::string>& folders);
Json code_lenses(const Snapshot& snapshot);
Json inlay_hints(const Snapshot& snapshot, const Json& range);
Json semantic_tokens(const Snapshot& snapshot);
Json semantic_legend();
/// Edits of the lines that the formatter changes; within `range` if it is given. None if the file
/// cannot be parsed.
Json formatting(const Snapshot& snapshot, const Json* range);

}  // namespace ltr::language_server
