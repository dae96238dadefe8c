#pragma once

// Cells as bytes: a record whose fields have fixed sizes is a row of bytes per field, which `window`,
// `collate` and caches copy without making tensors.

#include <cstddef>
#include <functional>

#include <ATen/core/Tensor.h>

#include "ltr/api.h"

namespace ltr {

/// The element type of `float` in data: f32, or f64 when the policy is f64.
at::ScalarType data_float();

at::ScalarType scalar_type(DType dtype);
/// What a cell of a field holds on the host: `whole` (Int, Bool), `real` or `text`; of a 0-d tensor its number.
enum class CellKind : uint8_t { Int, Real, Bool, Text };
CellKind cell_kind(const FieldInfo& field);
/// The type of field `field` in a batch: `int float bool` become tensors.
at::ScalarType field_type(const FieldInfo& field);
/// As in `.ltr`: `u8[28, 28]`, `int`.
Str type_text(const FieldInfo& field);

/// Bytes of one row of `field`; -1 if a dim is not known, it is text, or it may be missing.
int64_t row_bytes(const FieldInfo& field);
/// -1 if one of the fields has none.
int64_t row_bytes(const Schema& schema);

/// Whether a number is finite, and infinite as the f32 that its row has.
bool is_too_large(const FieldInfo& field, const Cell& cell);
Str too_large_text(const FieldInfo& field, const Cell& cell);

/// Writes `cell` as the row of `field`, converting its element type. R3003 if its shape is another one;
/// `place` names the record.
void write_cell(const FieldInfo& field, const Cell& cell, std::byte* row, const std::function<Str()>& place);
/// The row as a cell. The tensor borrows the bytes, which must outlive it.
void read_cell(const FieldInfo& field, const std::byte* row, Cell& cell);

/// A tensor of `type` and `sizes` over borrowed bytes.
at::Tensor borrow(const std::byte* bytes, at::IntArrayRef sizes, at::ScalarType type);

}  // namespace ltr
