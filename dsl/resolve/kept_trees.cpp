#include "dsl/resolve/kept_trees.h"

#include <map>
#include <optional>
#include <string>

#include "dsl/parse/parse.h"

namespace ltr::resolve {

namespace {

/// A file of the library as it was parsed last.
struct KeptTree {
  source::SourceId id;
  std::string text;
  ast::Module tree;
};
thread_local std::optional<std::map<std::string_view, KeptTree>> kept_trees;

}  // namespace

void keep_library_trees() { kept_trees.emplace(); }

ast::Module parse_library(const source::EmbeddedFile& file, source::SourceId id, std::string_view text,
                          diagnostics::Sink& sink) {
  if (!kept_trees) return parse::parse(id, text, sink);
  KeptTree& kept = (*kept_trees)[file.name];
  if (kept.id != id || kept.text != text) {
    const size_t errors = sink.error_count();
    kept = {id, std::string(text), parse::parse(id, text, sink)};
    if (sink.error_count() != errors) kept.id = {};  // What is wrong with it is to be told again.
  }
  return kept.tree;
}

}  // namespace ltr::resolve
