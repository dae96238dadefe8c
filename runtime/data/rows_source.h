#pragma once

// Rows from outside (`predict --read`) as the records of a stream's source.

#include "runtime/data/stream.h"

namespace ltr {

/// What a file of rows gave.
struct Rows {
  Stream stream;               ///< its records; a row with a fault is left out where it stands
  std::vector<Str> faults;     ///< of each row, "" for a good one
  std::vector<size_t> absent;  ///< fields of the schema that no row has: they hold stand-ins
};

/// Reads all rows of `file` (`.jsonl`, `.csv`, `.npy`; `-` is JSON lines on stdin) as records of `schema`. R3002 for
/// fields that the schema lacks; R3001 and R3003 for the file. A row that does not fit is a fault of its own, with
/// `is_strict` R3003.
Rows read_rows(const Str& file, const Schema& schema, bool is_strict);

/// Those of `rows.absent` on which the batch fields `used` of `like` hang, once the rows stand for its source: whoever
/// reads them would read inventions. Found by reading the first row with other stand-ins.
std::vector<size_t> fields_missed(const Stream& like, const Rows& rows, const std::vector<Str>& used);

}  // namespace ltr
