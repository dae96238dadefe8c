#pragma once

// Cells of column files as those of records.

#include "doors/column_file.h"
#include "ltr/api.h"

namespace ltr {

/// A column as the source of a field.
struct StoredColumn {
  doors::ColumnInfo info;
  std::vector<Str> classes;  ///< the names that its numbers stand for, if it has some
};

/// Whether the values of a column can be those of `field`.
bool holds_field(const StoredColumn& column, const FieldInfo& field);

/// The cell in `row` of column `at` of `block` as a value of `field`. Misfit, which names the field, if it is none. `folder` is where
/// files are looked for that a cell names.
Cell stored_cell(const doors::RowBlock& block, size_t at, int64_t row, const StoredColumn& column,
                 const FieldInfo& field, const Str& folder);

/// The part `text` of a path, as `name=text`, as a value of `field`; Misfit if it is none.
Cell path_cell(std::string_view text, const FieldInfo& field);

}  // namespace ltr
