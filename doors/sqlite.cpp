#include "doors/sqlite.h"

#include <sqlite3.h>

#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "doors/file.h"
#include "doors/limits.h"

namespace ltr::doors {

struct SqlRows::Impl {
  std::string path;
  std::string query;
  sqlite3* database = nullptr;
  sqlite3_stmt* statement = nullptr;

  ~Impl() {
    sqlite3_finalize(statement);
    sqlite3_close(database);
  }

  [[noreturn]] void refuse() const {
    if ((sqlite3_errcode(database) & 0xFF) == SQLITE_ERROR) throw QueryError(sqlite3_errmsg(database));
    throw FormatError(path, 0, sqlite3_errmsg(database));
  }
};

namespace {

/// A path as SQLite's URI: what stands for itself in it does so.
std::string uri_of(const std::string& path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_') {
      uri += c;
    } else {
      uri += {'%', kDigits[uint8_t(c) >> 4], kDigits[uint8_t(c) & 15]};
    }
  }
  // Nobody is waited for, and no journal is made beside it.
  return uri + "?mode=ro&immutable=1";
}

}  // namespace

SqlRows::SqlRows(const std::string& path, const std::string& query) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->query = query;
  // SQLite says no more than that it cannot open it, and of a folder not even that.
  if (!std::ifstream(path).good()) throw std::system_error(errno, std::generic_category(), path);
  if (std::filesystem::is_directory(path)) throw std::system_error(EISDIR, std::generic_category(), path);
  std::error_code none;
  if (std::filesystem::file_size(path + "-wal", none) > 0 && !none)
    throw FormatError(path, 0, "its newest rows are still in " + path + "-wal: `pragma wal_checkpoint` brings them in");
  if (sqlite3_open_v2(uri_of(path).c_str(), &impl_->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) !=
      SQLITE_OK)
    impl_->refuse();
  sqlite3_extended_result_codes(impl_->database, 1);
  sqlite3_limit(impl_->database, SQLITE_LIMIT_ATTACHED, 0);
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(impl_->database, query.c_str(), int(query.size()), &impl_->statement, &rest) != SQLITE_OK)
    impl_->refuse();
  if (impl_->statement == nullptr) throw QueryError("the query is empty");
  if (std::string_view(rest).find_first_not_of(" \t\r\n;") != std::string_view::npos)
    throw QueryError("the query is more than one statement");
  if (sqlite3_column_count(impl_->statement) == 0 || sqlite3_stmt_readonly(impl_->statement) == 0)
    throw QueryError("the query gives no rows");
  if (const int count = sqlite3_bind_parameter_count(impl_->statement); count > 0) {
    const char* const name = sqlite3_bind_parameter_name(impl_->statement, count);
    throw QueryError(std::string("the query leaves ") + (name == nullptr ? "?" : name) +
                     " open, which nothing fills: write its value");
  }
}

SqlRows::~SqlRows() = default;

std::vector<std::string> SqlRows::columns() const {
  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(impl_->statement); ++i)
    names.emplace_back(sqlite3_column_name(impl_->statement, i));
  return names;
}

bool SqlRows::is_ordered() const {
  std::string lower;
  for (const char c : impl_->query) lower += char(std::tolower(static_cast<unsigned char>(c)));
  const size_t at = lower.find("order");
  return at != std::string::npos && lower.find("by", at) != std::string::npos;
}

bool SqlRows::next() {
  const int result = sqlite3_step(impl_->statement);
  if (result != SQLITE_ROW && result != SQLITE_DONE) impl_->refuse();
  return result == SQLITE_ROW;
}

SqlKind SqlRows::kind(size_t column) const {
  switch (sqlite3_column_type(impl_->statement, int(column))) {
    case SQLITE_INTEGER: return SqlKind::Int;
    case SQLITE_FLOAT: return SqlKind::Real;
    case SQLITE_TEXT: return SqlKind::Text;
    case SQLITE_BLOB: return SqlKind::Blob;
    default: return SqlKind::Null;
  }
}

int64_t SqlRows::whole(size_t column) const { return sqlite3_column_int64(impl_->statement, int(column)); }

double SqlRows::real(size_t column) const { return sqlite3_column_double(impl_->statement, int(column)); }

std::string_view SqlRows::bytes(size_t column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(impl_->statement, int(column)));
  return {data == nullptr ? "" : data, size_t(sqlite3_column_bytes(impl_->statement, int(column)))};
}

}  // namespace ltr::doors
