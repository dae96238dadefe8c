#pragma once

// Columns of a table in memory, as narrow as their values let them be.

#include <string_view>
#include <vector>

#include "ltr/api.h"
#include "runtime/data/rows.h"

namespace ltr {

/// Whole numbers, each of as many bytes as the widest needs.
class NarrowInts {
 public:
  void push(int64_t value);
  int64_t operator[](size_t i) const;
  size_t size() const { return bytes_.size() / width_; }
  size_t bytes() const { return bytes_.size(); }
  void reserve(size_t count) { bytes_.reserve(count * width_); }

 private:
  void widen(size_t width);

  size_t width_ = 1;
  std::vector<char> bytes_;
};

/// The values of one field, in the order of their records.
class Column {
 public:
  explicit Column(const FieldInfo& field);

  CellKind kind() const { return kind_; }
  void reserve(size_t count);
  size_t size() const;
  void push_whole(int64_t value) { whole_.push(value); }
  void push_real(double value) { real_.push_back(value); }
  void push_bytes(std::string_view bytes);
  /// Of an option.
  void push_missing();
  /// A value that nobody reads, of a record that is bad.
  void push_nothing();

  bool is_missing(size_t row) const { return !missing_.empty() && row < missing_.size() && missing_[row]; }
  int64_t whole(size_t row) const { return whole_[row]; }
  double real(size_t row) const { return real_[row]; }
  std::string_view bytes(size_t row) const;

 private:
  CellKind kind_;
  NarrowInts whole_;  ///< numbers; of texts and bytes where each ends
  std::vector<double> real_;
  Str bytes_;
  std::vector<bool> missing_;  ///< up to the last that is
};

}  // namespace ltr
