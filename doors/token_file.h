#pragma once

// Files of token ids: little-endian uint16 or uint32, raw or behind a header of 256 int32 that
// begins with a magic number, a version and the count.

#include "doors/mapping.h"

namespace ltr::doors {

class TokenFile {
 public:
  /// Without a header the ids are uint16; the magic 20240520 says uint16 too, 20240801 uint32.
  /// FormatError for half an id, another number of ids than the header says, or another version than llm.c's 1 and 7.
  explicit TokenFile(const std::string& path);

  uint64_t count() const { return count_; }
  /// Ids `begin` to `begin + count` as int32. FormatError where the file was cut off since it was opened.
  void copy(uint64_t begin, uint64_t count, int32_t* out) const;

 private:
  std::string path_;
  Mapping bytes_;
  uint64_t start_ = 0;
  uint64_t width_ = 2;
  uint64_t count_ = 0;
};

}  // namespace ltr::doors
