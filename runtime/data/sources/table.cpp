#include "runtime/data/sources/table.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <ATen/ATen.h>

#include "doors/utf8.h"
#include "runtime/api/suggest.h"
#include "runtime/data/image_cells.h"
#include "runtime/data/json_cells.h"
#include "runtime/data/row_records.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

Table::Table(Schema fields, Str path, Str word, Str folder)
    : Source(std::move(fields)), path_(std::move(path)), word_(std::move(word)), folder_(std::move(folder)) {
  for (const FieldInfo& field : schema_) {
    columns_.emplace_back(field);
    if (columns_.back().kind() == CellKind::Text && field.host[0] != '\0') texts_.push_back(columns_.size() - 1);
  }
}

void Table::check() const {
  if (!bad_.empty()) refuse(bad_.begin()->first, bad_.begin()->second);
}

void Table::reserve(size_t rows) {
  for (Column& column : columns_) column.reserve(rows);
}

void Table::end_row(int64_t number, Str fault) {
  if (fault.empty()) fault = fault_of_texts();
  if (!fault.empty()) bad_.emplace(size_, std::move(fault));
  for (Column& column : columns_) {
    if (column.size() == size_t(size_)) column.push_nothing();
  }
  const int64_t more = number - size_;
  if (numbers_.empty() || numbers_.rbegin()->second != more) numbers_.emplace_hint(numbers_.end(), size_, more);
  ++size_;
}

Str Table::fault_of_texts() const {
  for (const size_t i : texts_) {
    if (columns_[i].size() <= size_t(size_)) continue;
    const std::string_view text = columns_[i].bytes(size_t(size_));
    if (doors::first_not_utf8(text)) return fmt::format("the field {}: {}", schema_[i].name, doors::utf8_fault(text));
  }
  return "";
}

void Table::note_number(size_t field, int64_t number, double value, std::string_view shown) {
  if (std::isfinite(value) || not_finite_count_++ > 0) return;
  not_finite_ = fmt::format("{}{}{}: the field {} is {}", path_, word_, number, schema_[field].name,
                            shown.empty() ? "empty, taken as nan" : shown);
}

Str Table::not_finite() const { return not_finite_text(not_finite_, not_finite_count_); }

int64_t Table::number_of(int64_t row) const { return row + std::prev(numbers_.upper_bound(row))->second; }

void Table::refuse(int64_t row, const Str& fault) const { throw bad_record(location(), place_of(row), fault); }

/// Bytes that are a tensor: an image, or its numbers as they lie in memory.
Cell Table::decoded(size_t field, int64_t row, std::string_view bytes) const {
  const FieldInfo& info = schema_[field];
  try {
    if (is_image(info) && !folder_.empty())
      return image_of_file((std::filesystem::path(folder_) / Str(bytes)).string(), info);
    const int64_t wanted = row_bytes(info);
    if (is_image(info) && wanted != int64_t(bytes.size())) return image_of_bytes(bytes, info);
    if (wanted != int64_t(bytes.size())) throw Misfit{fmt::format("{} bytes, not {}", bytes.size(), wanted)};
    at::Tensor tensor = at::empty(info.dims, at::TensorOptions().dtype(scalar_type(info.dtype)));
    std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
    Cell cell;
    cell.tensor = give(tensor);
    return cell;
  } catch (const Misfit& misfit) {
    refuse(row, fmt::format("the field {}: {}", info.name, misfit.text));
  }
}

bool Table::read(const ReadAt& at, Record& out) const {
  const auto row = size_t(at.index);
  if (const auto bad = bad_.find(at.index); bad != bad_.end()) refuse(bad->first, bad->second);
  out.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const FieldInfo& field = schema_[i];
    Cell& cell = out[i];
    cell.is_missing = column.is_missing(row);
    if (column.kind() == CellKind::Text) {
      if (field.host[0] == '\0')
        cell = decoded(i, at.index, column.bytes(row));
      else
        cell.text = column.bytes(row);
      continue;
    }
    const bool is_real = column.kind() == CellKind::Real;
    if (is_real)
      cell.real = column.real(row);
    else
      cell.whole = column.whole(row);
    if (field.host[0] != '\0') continue;
    const at::Scalar value = is_real ? at::Scalar(cell.real) : at::Scalar(cell.whole);
    cell.tensor = give(at::scalar_tensor(value, at::TensorOptions().dtype(scalar_type(field.dtype))));
  }
  return true;
}

Str fault_of(const FieldInfo& field, std::string_view cell) {
  if (const Str fault = doors::utf8_fault(cell); !fault.empty())
    return fmt::format("the field {}: {}", field.name, fault);
  if (!cell.empty()) return fmt::format("the field {} is \"{}\", but {} is wanted", field.name, cell, type_text(field));
  // An option of a tensor is no field.
  const Str other = !field.dims.empty() ? "" : fmt::format(", option[{}] has none", type_text(field));
  return fmt::format("the field {} is empty; {} has no value for that{}", field.name, type_text(field), other);
}

Error no_column(const Str& path, const char* word, const Str& name, const std::vector<Str>& names) {
  const Str near = nearest(name, names);
  return error_here(err::schema_differs, path,
                    fmt::format("there is no {} {}{} (there are: {})", word, name,
                                near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(names, ", ")));
}

}  // namespace ltr
