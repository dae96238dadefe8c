#pragma once

// The records of rows from outside, and values that stand in where a row has none.

#include "runtime/data/rows_source.h"
#include "runtime/data/sources/source.h"

namespace ltr {

/// Values that take turns in the place of one: what changes with them hangs on it.
inline constexpr int kStandIns = 3;
Cell stand_in(const FieldInfo& field, int which);

/// "a.csv:3: the field x is nan; 2 numbers of this file are not finite", "" if `count` is 0.
Str not_finite_text(const Str& first, int64_t count);

class RowSource : public Source {
 public:
  RowSource(Schema fields, std::vector<Str> places, std::vector<Record> records, bool leaves_out)
      : Source(std::move(fields)), places_(std::move(places)), records_(std::move(records)), leaves_out_(leaves_out) {}
  int64_t size() const override { return int64_t(records_.size()); }
  Str name_of(const ReadAt& at) const override { return places_[size_t(at.index)]; }
  bool leaves_out_refused() const override { return leaves_out_; }
  /// The record of a row with a fault is empty.
  bool read(const ReadAt& at, Record& out) const override;

  void set_leaves_out(bool leaves_out) { leaves_out_ = leaves_out; }
  /// No record has `field`: all hold `cell`.
  void fill_in(size_t field, const Cell& cell);
  /// No prediction hangs on `field`: a record that is refused holds `cell` when it is read again.
  void set_unneeded(size_t field, Cell cell) { unneeded_.emplace_back(field, std::move(cell)); }

 private:
  std::vector<Str> places_;
  std::vector<Record> records_;
  bool leaves_out_;
  std::vector<std::pair<size_t, Cell>> unneeded_;
};

}  // namespace ltr
