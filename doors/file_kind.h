#pragma once

// What a file is that was taken for text.

#include <optional>
#include <string>
#include <string_view>

namespace ltr::doors {

struct FileKind {
  std::string what;    ///< "a Parquet file"
  std::string source;  ///< what reads it, `parquet`; "" if nothing does
};

/// What the first bytes of a file say that it is, nothing if they may be text.
std::optional<FileKind> kind_of(std::string_view begin);
/// The same of the file at `path`; nothing if it cannot be read.
std::optional<FileKind> kind_of_file(const std::string& path);

}  // namespace ltr::doors
