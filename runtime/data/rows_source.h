#pragma once

// Rows from outside (`predict --read`, requests to `serve`) as the records of a stream's source.

#include <istream>

#include <nlohmann/json_fwd.hpp>

#include "runtime/data/stream.h"

namespace ltr {

class RowSource;

struct RowRules {
  bool refuses_names = false;  ///< a name that is no field is R3002, else it is read no further
  bool refuses_rows = false;   ///< a row that does not fit is R3003, else a fault of its own
};

/// Rows as they were read, which no stream has yet.
struct ReadRows {
  std::vector<Record> records;  ///< of a row with a fault, an empty one
  std::vector<Str> places;      ///< of each row: file and line
  std::vector<Str> faults;      ///< of each row, "" for a good one
  std::vector<bool> has;        ///< of each field of the schema: whether the rows have it
  std::vector<Str> ignored;     ///< names of the file that are no fields
  Str not_finite;               ///< the first number that is none, and how many there are; "" if all are
};
/// The lines of `in`, each a row; `name` stands for the file in messages. R3003.
ReadRows rows_of_lines(std::istream& in, const Str& name, const Schema& schema, RowRules rules);
/// Objects by the names of their fields.
ReadRows rows_of_json(const std::vector<nlohmann::json>& rows, const Str& name, const Schema& schema, RowRules rules);
/// The text of a CSV file. R3002 and R3003.
ReadRows rows_of_csv(const Str& text, const Str& name, const Schema& schema, RowRules rules);

/// Rows as a stream's records.
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

/// Of at least one row. A row that a map refuses is left out if `leaves_out`, else an error.
ForeignRows as_stream(ReadRows rows, const Schema& schema, bool leaves_out);
/// Reads all rows of `file` (`.jsonl`, `.csv`, `.npy`; `-` is JSON lines on stdin) as records of `schema`. R3001 and R3003
/// for the file.
ForeignRows read_rows(const Str& file, const Schema& schema, RowRules rules);

/// Records behind the maps of `stream`.
int64_t records_behind(const Stream& stream);

/// What the fields of rows are to a prediction.
struct FieldUse {
  std::vector<size_t> missed;                      ///< the prediction hangs on them, and no row has them
  std::vector<std::pair<size_t, Cell>> filled_in;  ///< no row has them, nor are they needed: what stands there
  std::vector<std::pair<size_t, Cell>>
      not_needed;         ///< rows have them, such as labels; a map that refuses one gets this
  bool is_known = false;  ///< a row could be read; else each says itself what is wrong with it
  /// Rows of the same fields become such that the maps take them.
  void apply(ForeignRows& rows) const;
};
/// Found by reading a row with other values in the place of its own: which of its fields the batch fields `used` of `like`
/// hang on, once `rows` stand for its source.
FieldUse use_of_fields(const Stream& like, const ForeignRows& rows, const std::vector<Str>& used);

}  // namespace ltr
