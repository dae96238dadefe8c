#pragma once

// What sources share: a fixed number of records, and the translation of reader errors.

#include <algorithm>

#include "doors/csv.h"
#include "doors/file.h"
#include "doors/file_kind.h"
#include "doors/unpacked.h"
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

/// R3003 of the record at `place`, and what can be done.
inline Error bad_record(const Location& location, const Str& place, const Str& fault) {
  return with_help(error_at(location, err::bad_record, place, fault),
                   "mend it, or leave such records out: map(…, on_bad = skip(10))");
}

/// R3002 if what begins with `text` is a file of another kind.
inline void need_text(std::string_view text, const Str& path) {
  const auto kind = doors::kind_of(text);
  if (!kind) return;
  const Error error = error_here(err::schema_differs, path, "it is " + kind->what);
  throw kind->source.empty() ? error : with_help(error, fmt::format("`{}(…)` reads it", kind->source));
}

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

/// R3002 where a file of records was cut off since it was opened: what was read of it is nothing.
inline void need_whole(const doors::Unpacked& file, const Str& path) {
  if (file.is_cut()) throw error_here(err::schema_differs, path, "the file was cut off while it was read");
}

}  // namespace ltr
