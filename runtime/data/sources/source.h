#pragma once

// What sources share: a fixed number of records, and the translation of reader errors.

#include <algorithm>

#include "doors/csv.h"
#include "doors/file.h"
#include "runtime/api/error.h"
#include "runtime/data/stream.h"

namespace ltr {

class Source : public StreamState {
 public:
  using StreamState::StreamState;
  bool is_fixed() const override { return true; }
  const StreamState* source() const override { return this; }
  Stream rebuilt(const Stream& source) const override { return source; }
};

/// The next line of the CSV file `path`, whose text is `text`; R3003 with its place for one that is damaged.
template <class Cells>
bool next_row(doors::CsvReader& reader, Cells& cells, const Str& text, const Str& path) {
  try {
    return reader.next(cells);
  } catch (const doors::FormatError& error) {
    const auto line = 1 + std::count(text.begin(), text.begin() + int64_t(error.offset), '\n');
    throw error_here(err::bad_record, fmt::format("{}:{}", path, line), error.reason);
  }
}

/// Runs `body`, which reads `path`: a damaged file is R3003, one that cannot be read R3001.
template <class Body>
auto reading(const Str& path, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const doors::FormatError& error) {
    throw Error(err::bad_record.code, error.what());
  } catch (const std::system_error& error) {
    throw Error(err::file_missing.code, fmt::format("cannot read {}: {}", path, error.code().message()));
  }
}

}  // namespace ltr
