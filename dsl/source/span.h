#pragma once

#include <compare>
#include <cstdint>

namespace ltr::source {

/// A file known to the `SourceManager`. 0 is no file.
struct SourceId {
  uint32_t index = 0;
  auto operator<=>(const SourceId&) const = default;
};

/// A range of bytes [begin, end) in one file. A default span stands for nothing that was written.
struct Span {
  SourceId source;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool is_empty() const { return begin == end; }
  auto operator<=>(const Span&) const = default;
};

/// The smallest span that holds both; both must be of one file.
inline Span join(const Span& first, const Span& last) {
  if (first.is_empty()) return last;
  if (last.is_empty()) return first;
  return {first.source, first.begin < last.begin ? first.begin : last.begin,
          first.end > last.end ? first.end : last.end};
}

}  // namespace ltr::source
