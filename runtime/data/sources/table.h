#pragma once

// A table in memory, of which a row is a record.

#include <map>

#include "runtime/data/sources/columns.h"
#include "runtime/data/sources/source.h"

namespace ltr {

/// Rows are put in one by one, and each is ended; then the table is read. Rows that are bad stand where they are, and are R3003
/// when they are read.
class Table : public Source {
 public:
  /// `path`: the file. `word`: what a row of it is called in front of its number, ":" of a line. Images are looked for from `folder`.
  Table(Schema fields, Str path, Str word, Str folder = "");

  int64_t size() const override { return size_; }
  Str name_of(const ReadAt& at) const override { return place_of(at.index); }
  void check() const override;
  bool read(const ReadAt& at, Record& out) const override;

  void reserve(size_t rows);
  Column& column(size_t field) { return columns_[field]; }
  /// Ends a row of the file, `number` there: what was put in for it, or, with a fault, nothing.
  void end_row(int64_t number, Str fault = "");
  /// Notes a number of the row that is put in, if it is not finite. `shown` is what the file says.
  void note_number(size_t field, int64_t number, double value, std::string_view shown);
  /// What is to be said of numbers that are not finite, "" if all are.
  Str not_finite() const;

 private:
  Str place_of(int64_t row) const { return path_ + word_ + std::to_string(number_of(row)); }
  int64_t number_of(int64_t row) const;
  /// What is wrong with the texts of the row that is put in, "" if they are UTF-8.
  Str fault_of_texts() const;
  [[noreturn]] void refuse(int64_t row, const Str& fault) const;
  Cell decoded(size_t field, int64_t row, std::string_view bytes) const;

  Str path_;
  Str word_;
  Str folder_;
  std::vector<Column> columns_;
  std::vector<size_t> texts_;  ///< the columns of them
  int64_t size_ = 0;
  std::map<int64_t, int64_t> numbers_;  ///< from this row on, by how much more than the row its number is
  std::map<int64_t, Str> bad_;          ///< rows that do not fit: what is wrong
  Str not_finite_;
  int64_t not_finite_count_ = 0;
};

/// "the field age is empty; …", or what stands there in place of a value of `field`.
Str fault_of(const FieldInfo& field, std::string_view cell);

/// R3002: `path` has no column `name`, but `names`. `word` is what a column is there.
Error no_column(const Str& path, const char* word, const Str& name, const std::vector<Str>& names);

}  // namespace ltr
