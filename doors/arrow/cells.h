#pragma once

// Values of Arrow's arrays as `RowBlock` says them.

#include <arrow/api.h>

#include "doors/column_file.h"

namespace ltr::doors {

/// A reason where `status` is none.
void need(const arrow::Status& status);

/// The value of `result`, ColumnFileError without one.
template <class T>
T needed(arrow::Result<T> result) {
  need(result.status());
  return std::move(result).ValueUnsafe();
}

ColumnInfo column_info(const arrow::Field& field);

/// Rows of chosen columns. ColumnFileError unless all of it holds together: nothing is looked at again when cells are read. `pool` is
/// where its memory is from, and ends with it.
std::shared_ptr<const RowBlock> make_block(std::shared_ptr<const arrow::MemoryPool> pool,
                                           std::shared_ptr<const arrow::Table> table);

}  // namespace ltr::doors
