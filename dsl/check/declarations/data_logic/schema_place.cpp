#include <cctype>

#include "dsl/check/declarations/data_logic/data_logic.h"

namespace ltr::check {

namespace {

bool is_of_word(const std::string& text, size_t at) {
  return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
}

/// The name behind the last `as`, or "" where fields stand there.
std::string type_named(const std::string& source) {
  size_t begin = source.size();
  while (begin > 0 && is_of_word(source, begin - 1)) --begin;
  size_t before = begin;
  while (before > 0 && std::isspace(static_cast<unsigned char>(source[before - 1])) != 0) --before;
  const bool is_behind_as = before >= 2 && before < begin && source.compare(before - 2, 2, "as") == 0;
  return is_behind_as ? source.substr(begin) : "";
}

}  // namespace

Span schema_place(const std::string& field, Span read, const Context& cx) {
  const std::string source = cx.source_text(read);
  const uint32_t module = cx.graph.module_of(read.source);
  const std::string named = type_named(source);
  const resolve::Symbol* symbol = named.empty() ? nullptr : cx.graph.find(module, named);
  if (symbol != nullptr && symbol->kind == resolve::SymbolKind::Type) {
    const auto* record = symbol->decl->get<ast::TypeName>()->type.get<ast::RecordType>();
    for (const ast::FieldType& one : record != nullptr ? record->fields : std::vector<ast::FieldType>()) {
      if (one.name.text == field) return one.name.span;
    }
    return read;
  }
  for (size_t at = source.rfind('{'); at != std::string::npos; ++at) {
    at = source.find(field, at);
    if (at == std::string::npos) break;
    if (is_of_word(source, at + field.size()) || is_of_word(source, at - 1)) continue;
    const uint32_t begin = read.begin + uint32_t(at);
    return {read.source, begin, begin + uint32_t(field.size())};
  }
  return read;
}

}  // namespace ltr::check
