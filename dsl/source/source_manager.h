#pragma once

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/source/line_index.h"
#include "dsl/source/span.h"

namespace ltr::source {

/// Larger files are refused: 16 MiB.
inline constexpr size_t kMaxSourceBytes = size_t{16} << 20U;

enum class LoadProblem { None, NotFound, NotReadable, Directory, TooLarge, NotUtf8, Utf16, CarriageReturns };

/// What came of reading a file: its id, or why there is none.
struct LoadResult {
  SourceId source;  ///< also of `NotUtf8` and `Utf16`, with `?` for what is not ASCII, and of `CarriageReturns`
  LoadProblem problem = LoadProblem::None;
  size_t bad_byte = 0;    ///< of `NotUtf8` and `Utf16`: the offset of the first byte that is wrong
  size_t size_bytes = 0;  ///< of `TooLarge`
  std::string reason;     ///< of `NotReadable`: the words of the operating system
};

/// Line and column of both ends of a span.
struct Range {
  Position begin;
  Position end;
};

/// Owns the text of every file in a compilation. Ids count from 1 in the order of adding; texts never move.
class SourceManager {
 public:
  /// `path` is what messages show. The text is taken as it is: a byte-order mark and `\r\n` stay, so that
  /// offsets are those of the file.
  SourceId add(std::string path, std::string text);
  /// Reads `file`; `shown` is the path in messages, by default `file` itself.
  LoadResult load(const std::filesystem::path& file, std::optional<std::string> shown = {});

  uint32_t count() const { return static_cast<uint32_t>(files_.size()); }
  bool contains(SourceId source) const { return source.index >= 1 && source.index <= files_.size(); }

  std::string_view text(SourceId source) const;
  std::string_view path(SourceId source) const;
  /// The text that a span covers.
  std::string_view text(Span span) const;
  /// Both ends of `span`; the end is the place after its last character.
  Range position(Span span) const;
  std::string_view line_text(SourceId source, uint32_t line) const;
  const LineIndex& lines(SourceId source) const;

 private:
  struct File {
    std::string path;
    std::string text;
    mutable std::optional<LineIndex> index;  ///< once somebody asks for a line

    const LineIndex& lines() const { return index ? *index : index.emplace(text); }
  };

  const File* find(SourceId source) const;

  std::deque<File> files_;
};

/// Offset of the first byte that is not UTF-8 (overlong forms and surrogates included), if there is one.
std::optional<size_t> find_invalid_utf8(std::string_view text);

}  // namespace ltr::source
