#pragma once

// What sources share: a fixed number of records, and the translation of reader errors.

#include "doors/file.h"
#include "runtime/api/error.h"
#include "runtime/data/stream.h"

namespace ltr {

class Source : public StreamState {
 public:
  using StreamState::StreamState;
  bool is_fixed() const override { return true; }
  const Schema* source_schema() const override { return &schema_; }
  Stream rebuilt(const Stream& source) const override { return source; }
};

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
