#include "runtime/data/rows.h"

#include <cmath>
#include <cstring>

#include <ATen/ops/from_blob.h>

#include "runtime/api/error.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"

namespace ltr {

namespace {

Str dims_text(at::IntArrayRef dims) {
  Str text = "[";
  for (const int64_t dim : dims) {
    if (text.size() > 1) text += ", ";
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text + "]";
}

}  // namespace

at::ScalarType data_float() { return precision().policy == at::kDouble ? at::kDouble : at::kFloat; }

at::ScalarType scalar_type(DType dtype) { return dtype == DType::Float ? data_float() : aten(dtype); }

CellKind cell_kind(const FieldInfo& field) {
  if (field.host[0] == 's' || field.host[0] == 'p') return CellKind::Text;
  const at::ScalarType type = field_type(field);
  return type == at::kBool ? CellKind::Bool : at::isFloatingType(type) ? CellKind::Real : CellKind::Int;
}

at::ScalarType field_type(const FieldInfo& field) {
  switch (field.host[0]) {
    case 'i': return at::kLong;
    case 'f': return data_float();
    case 'b': return at::kBool;
    default: return scalar_type(field.dtype);
  }
}

Str type_text(const FieldInfo& field) {
  if (field.form == FieldForm::Option) return fmt::format("option[{}]", field.host);
  if (field.form == FieldForm::Texts) return "str" + dims_text(at::IntArrayRef(field.dims).slice(0, 1));
  if (field.host[0] != '\0') return field.host;
  return to_text(field.dtype) + dims_text(field.dims);
}

int64_t row_bytes(const FieldInfo& field) {
  if (field.host[0] == 's' || field.host[0] == 'p' || field.form == FieldForm::Option) return -1;
  auto bytes = int64_t(c10::elementSize(field_type(field)));
  for (const int64_t dim : field.dims) {
    if (dim < 0) return -1;
    bytes *= dim;
  }
  return bytes;
}

int64_t row_bytes(const Schema& schema) {
  int64_t sum = 0;
  for (const FieldInfo& field : schema) {
    const int64_t bytes = row_bytes(field);
    if (bytes < 0) return -1;
    sum += bytes;
  }
  return sum;
}

bool is_too_large(const FieldInfo& field, const Cell& cell) {
  if (field.form == FieldForm::Option && cell.is_missing) return false;
  return field.host[0] == 'f' && data_float() != at::kDouble && std::isfinite(cell.real) &&
         !std::isfinite(float(cell.real));
}

Str too_large_text(const FieldInfo& field, const Cell& cell) {
  return fmt::format("the field {} is {}, too large for f32", field.name, cell.real);
}

void write_cell(const FieldInfo& field, const Cell& cell, std::byte* row, const std::function<Str()>& place) {
  if (field.host[0] == 'i') {
    std::memcpy(row, &cell.whole, sizeof cell.whole);
    return;
  }
  if (field.host[0] == 'b') {
    *row = std::byte(cell.whole != 0);
    return;
  }
  if (field.host[0] == 'f') {
    const auto narrow = float(cell.real);
    if (is_too_large(field, cell)) throw error_here(err::bad_record, place(), too_large_text(field, cell));
    if (data_float() == at::kDouble)
      std::memcpy(row, &cell.real, sizeof cell.real);
    else
      std::memcpy(row, &narrow, sizeof narrow);
    return;
  }
  const In in(cell.tensor);
  const at::Tensor& borrowed = *in;
  if (!borrowed.defined() || borrowed.sizes() != at::IntArrayRef(field.dims)) {
    throw error_here(err::bad_record, place(),
                     fmt::format("the field {} is {}, but {} is wanted", field.name,
                                 borrowed.defined() ? dims_text(borrowed.sizes()) : "missing", type_text(field)));
  }
  const at::ScalarType type = field_type(field);
  if (borrowed.scalar_type() == type && borrowed.is_contiguous()) {
    std::memcpy(row, borrowed.const_data_ptr(), borrowed.nbytes());
    return;
  }
  borrow(row, borrowed.sizes(), type).copy_(borrowed);
}

void read_cell(const FieldInfo& field, const std::byte* row, Cell& cell) {
  switch (field.host[0]) {
    case 'i': std::memcpy(&cell.whole, row, sizeof cell.whole); return;
    case 'b': cell.whole = row[0] != std::byte(0); return;
    case 'f': {
      float narrow = 0;
      if (data_float() == at::kDouble) {
        std::memcpy(&cell.real, row, sizeof cell.real);
      } else {
        std::memcpy(&narrow, row, sizeof narrow);
        cell.real = double(narrow);
      }
      return;
    }
    default: cell.tensor = give(borrow(row, field.dims, field_type(field)));
  }
}

at::Tensor borrow(const std::byte* bytes, at::IntArrayRef sizes, at::ScalarType type) {
  return at::from_blob(const_cast<std::byte*>(bytes), sizes, at::TensorOptions().dtype(type));
}

}  // namespace ltr
