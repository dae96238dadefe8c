#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/source/source_manager.h"

namespace ltr::language_server {

using Json = nlohmann::json;
using source::Span;

/// Places of the protocol: line from 0, and UTF-16 code units from 0 in it.
/// The byte in `text`; past the end of a line or of the text it is that end.
uint32_t offset_of(std::string_view text, const source::LineIndex& lines, const Json& position);
Json position_of(std::string_view text, const source::LineIndex& lines, uint32_t offset);
Json range_of(const source::SourceManager& sources, Span span);
/// Code units of UTF-8 text in UTF-16.
uint32_t utf16_length(std::string_view text);

/// `text` after a change of `textDocument/didChange`, whole or with a range.
void apply_change(std::string& text, const Json& change);

/// `file:` URIs and paths. Another scheme (`untitled:`) is kept as a path that no file has.
std::string path_of(const std::string& uri);
std::string uri_of(const std::string& path);

/// The edits that make `before` into `after`, by whole lines, as small as is cheap to find. Spans
/// are of the source `id`.
struct TextEdit {
  Span span;
  std::string text;
};
std::vector<TextEdit> line_edits(source::SourceId id, std::string_view before, std::string_view after);

}  // namespace ltr::language_server
