#include "ltrc/language_server/importable.h"

#include <algorithm>
#include <set>

#include "dsl/lex/lex.h"
#include "dsl/resolve/resolve.h"
#include "ltrc/language_server/declaring_words.h"

namespace ltr::language_server {

namespace {

/// The names that stand behind `block`, `fn` and so on at the beginning of a line; functions of an
/// `extern` block are indented, and so are methods, which no file of functions has.
void add_declared(const source::EmbeddedFile& file, std::vector<LibraryName>& names) {
  diagnostics::Sink sink;
  const lex::TokenBuffer buffer = lex::lex(source::SourceId{1}, file.text, sink);
  const auto word = [&](size_t at) {
    const source::Span span = buffer.tokens[at].span;
    return file.text.substr(span.begin, span.end - span.begin);
  };
  const bool has_extern = file.text.find("extern ") != std::string_view::npos;
  for (size_t i = 0; i + 1 < buffer.tokens.size(); ++i) {
    const lex::Token& token = buffer.tokens[i];
    const bool may_declare = token.starts_line && (token.indent == 0 || (token.indent == 2 && has_extern));
    const DeclaringWord* declaring = may_declare ? find_declaring(word(i)) : nullptr;
    if (declaring != nullptr && declaring->is_importable && !word(i + 1).starts_with("_"))
      names.push_back({std::string(word(i + 1)), "std/" + std::string(file.name)});
  }
}

}  // namespace

std::vector<LibraryName> importable(std::string_view before) {
  const size_t begin = before.rfind('\n');
  const std::string_view line = before.substr(begin == std::string_view::npos ? 0 : begin + 1);
  const size_t root = line.find("std");
  if (root == std::string_view::npos) return {{"std", "", true}};
  std::string folder(line.substr(root + 3));
  const bool in_braces = folder.find('{') != std::string::npos;
  folder = folder.substr(0, folder.find('{'));
  folder = folder.substr(0, std::min(folder.rfind('.'), folder.size()));
  std::replace(folder.begin(), folder.end(), '.', '/');
  if (folder.starts_with("/")) folder.erase(0, 1);
  std::vector<LibraryName> names;
  for (const source::EmbeddedFile& file : resolve::library_texts) {
    std::string name(file.name.substr(0, file.name.rfind('.')));
    if (!folder.empty()) {
      if (name != folder && !name.starts_with(folder + "/")) continue;
      name.erase(0, std::min(folder.size() + 1, name.size()));
    }
    if (in_braces) {
      add_declared(file, names);
    } else if (!name.empty()) {
      names.push_back({name.substr(0, name.find('/')), "", true});
    }
  }
  return names;
}

}  // namespace ltr::language_server
