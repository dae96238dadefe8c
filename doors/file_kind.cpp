#include "doors/file_kind.h"

#include <fstream>

namespace ltr::doors {

namespace {

struct FirstBytes {
  std::string_view begin;
  const char* what;
  const char* source;
};
constexpr FirstBytes kFirstBytes[] = {{"PAR1", "a Parquet file", "parquet"},
                                      {"PARE", "an encrypted Parquet file", ""},
                                      {"ARROW1", "an Arrow or Feather file", "arrow"},
                                      {"SQLite format 3", "an SQLite database", "sqlite"},
                                      {"\x93NUMPY", "an array of NumPy", "npy"},
                                      {"PK\x03\x04", "a zip archive, as .npz and .xlsx files are", ""},
                                      {"\xFF\xFE", "text in UTF-16 (`iconv -f UTF-16 -t UTF-8` makes it UTF-8)", ""},
                                      {"\xFE\xFF", "text in UTF-16 (`iconv -f UTF-16 -t UTF-8` makes it UTF-8)", ""}};

constexpr size_t kLookedAt = 4096;

}  // namespace

std::optional<FileKind> kind_of(std::string_view begin) {
  if (begin.starts_with("\x1F\x8B")) return std::nullopt;  // gzip, of what may be text
  for (const FirstBytes& row : kFirstBytes) {
    if (begin.starts_with(row.begin)) return FileKind{row.what, row.source};
  }
  if (begin.substr(0, kLookedAt).find('\0') != std::string_view::npos) return FileKind{"no text", ""};
  return std::nullopt;
}

std::optional<FileKind> kind_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(kLookedAt, '\0');
  file.read(begin.data(), std::streamsize(begin.size()));
  begin.resize(size_t(file.gcount()));
  return kind_of(begin);
}

}  // namespace ltr::doors
