#pragma once

// Rows of an SQLite database, which is read and never written.

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ltr::doors {

/// A query that the database does not take, or that gives no rows.
struct QueryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class SqlKind : uint8_t { Null, Int, Real, Text, Blob };

class SqlRows {
 public:
  /// Begins `query` on the database at `path`. std::system_error if it cannot be read; FormatError for what is no database, or
  /// is being written; QueryError.
  SqlRows(const std::string& path, const std::string& query);
  ~SqlRows();
  SqlRows(const SqlRows&) = delete;
  SqlRows& operator=(const SqlRows&) = delete;

  std::vector<std::string> columns() const;
  /// Whether the order of the rows is said.
  bool is_ordered() const;
  /// Moves to the next row; false at the end. FormatError for a damaged database.
  bool next();

  // The row.
  SqlKind kind(size_t column) const;
  int64_t whole(size_t column) const;
  double real(size_t column) const;
  /// Of a text or blob; until `next`.
  std::string_view bytes(size_t column) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ltr::doors
