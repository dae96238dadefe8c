#pragma once

// Files of columns as one source: what `parquet`, `arrow` and `hf_dataset` share.

#include "doors/column_file.h"
#include "runtime/data/sources/source.h"

namespace ltr {

/// The rows of `files`, one file behind the other, as records of `schema`. R3002 where a column is not there, or holds something
/// else; R3003 for a file that is none or damaged, and for a value that is none of its field; R3001 without the library that reads
/// such files.
Stream open_column_files(const std::vector<Str>& files, doors::ColumnFormat format, const Schema& schema);

/// Files below `folder`, at any depth and sorted, whose names end in one of `endings`. Names that begin with `_` or `.` are those of
/// other programs.
std::vector<Str> files_below(const Str& folder, const std::vector<Str>& endings);

}  // namespace ltr
