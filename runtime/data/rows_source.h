#pragma once

// Rows from outside (`predict --read`) as the records of a stream's source.

#include "runtime/data/stream.h"

namespace ltr {

class RowSource;

/// What a file of rows gave.
struct ForeignRows {
  Stream stream;                ///< its records; a row with a fault is left out where it stands
  std::vector<Str> faults;      ///< of each row, "" for a good one
  std::vector<Str> places;      ///< of each row: file and line
  std::vector<size_t> absent;   ///< fields of the schema that no row has: they hold stand-ins
  std::vector<Str> ignored;     ///< names of the file that are no fields
  Str not_finite;               ///< the first number that is none, and how many there are; "" if all are
  RowSource* source = nullptr;  ///< what `stream` reads

  /// A row that a map refuses is an error from now on, not left out.
  void need_all() const;
};

struct RowRules {
  bool refuses_names = false;  ///< a name that is no field is R3002, else it is read no further
  bool refuses_rows = false;   ///< a row that does not fit is R3003, else a fault of its own
};
/// Reads all rows of `file` (`.jsonl`, `.csv`, `.npy`; `-` is JSON lines on stdin) as records of `schema`. R3001 and R3003
/// for the file.
ForeignRows read_rows(const Str& file, const Schema& schema, RowRules rules);

/// Those of `rows.absent` on which the batch fields `used` of `like` hang, once the rows stand for its source: whoever
/// reads them would read inventions. Found by reading a row with other values in their place. What of the others `used` does
/// not hang on, such as a label, need not be as the maps want it from now on.
std::vector<size_t> fields_missed(const Stream& like, const ForeignRows& rows, const std::vector<Str>& used);

}  // namespace ltr
