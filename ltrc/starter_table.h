#pragma once

// A table as `ltrc new` looks at it: once, row by row, keeping counts.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ltr::driver {

/// What stands in a column.
struct TableColumn {
  std::string name;
  int64_t numbers = 0;
  int64_t texts = 0;  ///< cells that are neither empty nor a finite number
  int64_t missing = 0;
  int64_t characters = 0;
  int64_t text_line = 0;  ///< line of the first text
  std::string text;       ///< it
  int64_t missing_line = 0;
  std::map<std::string, int64_t> kinds;  ///< cells and how often each is there, up to `kMostKinds`
  bool has_more_kinds = false;

  static constexpr size_t kMostKinds = 100'000;
  int64_t cells() const { return numbers + texts; }
  bool is_number() const { return numbers > 0 && texts == 0; }
  /// Numbers, but for a few cells.
  bool is_nearly_number() const { return texts > 0 && numbers >= 9 * texts; }
  bool is_constant() const { return kinds.size() <= 1; }
  /// Whether a program can name it.
  bool is_name() const;
};

struct Table {
  std::string path;
  std::string separator;  ///< as a program writes it
  int64_t rows = 0;
  std::vector<TableColumn> columns;

  /// The columns, and what stands in each, for people.
  std::string columns_text() const;
};

/// Throws Unfit for what is no table, or has fewer rows than `fewest`.
Table look_at_table(const std::string& path, int64_t fewest);

}  // namespace ltr::driver
