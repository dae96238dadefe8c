#pragma once

#include <memory>

#include "ltrc/language_server/index.h"
#include "ltrc/language_server/text.h"

namespace ltr::language_server {

/// The id of the program's own file in every compilation.
inline constexpr source::SourceId kMain{1};

/// How much of the library is read. What a program could use beyond what it mentions tells `whole_library`; only a file of the
/// library itself, which stands for its embedded text, is read with all others.
using resolve::Reach;

/// One state of one document, analysed as far as what is asked needs it. Everything that is answered comes from one of these.
struct Snapshot {
  std::string path;
  driver::Compilation compilation;
  std::unique_ptr<Index> index;
  bool is_complete = false;
  std::string failure;  ///< what `ltrc` itself did wrong with this text; empty if nothing

  /// With what only its whole code tells, which nothing but diagnostics shows.
  void complete();
  const source::SourceManager& sources() const { return compilation.sources; }
  std::string_view text() const { return compilation.sources.text(kMain); }
  const source::LineIndex& lines() const { return compilation.sources.lines(kMain); }
  /// The main file as it was parsed; nothing if there is none (another edition).
  const ast::Module* module() const { return compilation.graph ? &compilation.graph->modules[0].ast : nullptr; }
  uint32_t offset(const Json& position) const { return offset_of(text(), lines(), position); }
  Json range(Span span) const { return range_of(sources(), span); }
  /// `uri` and `range`; null for a span that is in no file.
  Json location(Span span) const;
};

/// One that was parsed and no more, without an index: what shows the text alone takes no analysis.
std::unique_ptr<Snapshot> parse_snapshot(const std::string& path, std::string text);
std::unique_ptr<Snapshot> take_snapshot(const std::string& path, std::string text);
/// All of the library, with its names and without types; read when first asked for, once.
const Snapshot& whole_library();

/// A path as the compiler names it as the path of a file that can be opened: that of a library file
/// is a read-only copy in the cache.
std::string openable(std::string_view path);

}  // namespace ltr::language_server
