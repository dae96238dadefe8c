#include "runtime/data/stored_cells.h"

#include <filesystem>
#include <limits>

#include <ATen/ATen.h>

#include "doors/csv.h"
#include "doors/file.h"
#include "doors/sound.h"
#include "doors/utf8.h"
#include "runtime/data/foreign_tensor.h"
#include "runtime/data/image_cells.h"
#include "runtime/data/json_cells.h"
#include "runtime/data/rows.h"
#include "runtime/data/sound_cells.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

using doors::ColumnKind;

bool is_bytes_or_file(const StoredColumn& column) {
  return column.info.kind == ColumnKind::Bytes || column.info.kind == ColumnKind::File;
}

bool is_sound(const FieldInfo& field) {
  return field.host[0] == '\0' && field.dims.size() == 2 && at::isFloatingType(scalar_type(field.dtype));
}

bool is_byte_list(const FieldInfo& field) {
  return field.host[0] == '\0' && field.dtype == DType::U8 && field.dims.size() == 1;
}

/// Whether numbers that are read as `element` may become `type`: no float becomes an integer, and bools stay such.
bool becomes(std::string_view element, at::ScalarType type) {
  const at::ScalarType from = stored_type(element).value();
  if (from == at::kBool || type == at::kBool) return from == type;
  return at::isFloatingType(type) || !at::isFloatingType(from);
}

[[noreturn]] void refuse_value(const Str& what) { throw Misfit{what}; }

/// Numbers as `type`, none of them another one.
at::Tensor converted(const at::Tensor& numbers, at::ScalarType type) {
  at::Tensor out = numbers.to(type, false, /*copy=*/true);
  if (at::isIntegralType(type, false) && !out.to(at::kLong).equal(numbers.to(at::kLong)))
    refuse_value(fmt::format("holds numbers that are no {}", to_text(dtype_of(type))));
  return out;
}

at::Tensor nested(const doors::StoredNumbers& numbers, at::ScalarType stored, at::ScalarType type) {
  const void* data = numbers.unpacked.empty() ? numbers.data : numbers.unpacked.data();
  if (data == nullptr) return at::empty(numbers.shape, at::TensorOptions().dtype(type));
  return converted(borrow(static_cast<const std::byte*>(data), numbers.shape, stored), type);
}

at::Tensor bytes_tensor(std::string_view bytes) {
  const void* data = bytes.data();
  if (bytes.empty()) return at::empty({0}, at::kByte);
  return borrow(static_cast<const std::byte*>(data), {int64_t(bytes.size())}, at::kByte).clone();
}

/// What a cell holds of a file: its bytes, or those of the file that it names.
struct Content {
  std::string_view bytes;
  Str path;  ///< "" if the bytes are there
};

Content content_of(const doors::RowBlock& block, size_t at, int64_t row, const StoredColumn& column,
                   const Str& folder) {
  Content content;
  if (column.info.kind != ColumnKind::Text) content.bytes = block.bytes(at, row);
  if (content.bytes.data() != nullptr) return content;
  const std::string_view path = column.info.kind == ColumnKind::File ? block.path(at, row) : block.bytes(at, row);
  if (path.empty()) refuse_value("has neither bytes nor a path");
  content.path = (std::filesystem::path(folder) / path).string();
  return content;
}

at::Tensor sound_of(const Content& content) {
  try {
    return tensor_of_sound(content.path.empty() ? doors::decode_sound(content.bytes, "")
                                                : doors::read_sound(content.path));
  } catch (const std::system_error& error) {
    refuse_value(fmt::format("names {}, which cannot be read: {}", content.path, error.code().message()));
  } catch (const doors::FormatError& error) {
    refuse_value(fmt::format("is no sound: {}byte {}: {}", content.path.empty() ? "" : content.path + ": ",
                             error.offset, error.reason));
  }
}

at::Tensor tensor_in(const doors::RowBlock& block, size_t at, int64_t row, const StoredColumn& column,
                     const FieldInfo& field, const Str& folder) {
  const at::ScalarType type = scalar_type(field.dtype);
  if (field.dims.empty()) {
    if (column.info.kind == ColumnKind::Real || at::isFloatingType(type))
      return at::scalar_tensor(block.real(at, row), at::TensorOptions().dtype(type));
    return converted(at::scalar_tensor(block.whole(at, row), at::TensorOptions().dtype(at::kLong)), type);
  }
  if (column.info.kind == ColumnKind::Numbers)
    return nested(block.numbers(at, row), stored_type(column.info.element).value(), type);
  if (is_sound(field)) return sound_of(content_of(block, at, row, column, folder)).to(type);
  return bytes_tensor(block.bytes(at, row));
}

/// The text that a cell is: its own, or that of the class whose number it is.
Str text_in(const doors::RowBlock& block, size_t at, int64_t row, const StoredColumn& column) {
  if (column.classes.empty()) {
    const std::string_view text = block.bytes(at, row);
    if (const Str fault = doors::utf8_fault(text); !fault.empty()) refuse_value("is no text: " + fault);
    return Str(text);
  }
  const int64_t number = block.whole(at, row);
  if (number < 0 || number >= int64_t(column.classes.size()))
    refuse_value(fmt::format("is {}, and its classes are 0 to {}", number, column.classes.size() - 1));
  return column.classes[size_t(number)];
}

Cell value_in(const doors::RowBlock& block, size_t at, int64_t row, const StoredColumn& column, const FieldInfo& field,
              const Str& folder) {
  Cell cell;
  switch (field.host[0]) {
    case 'i':
    case 'b': cell.whole = block.whole(at, row); return cell;
    case 'f': cell.real = block.real(at, row); return cell;
    case 's':
    case 'p': cell.text = text_in(block, at, row, column); return cell;
    default: break;
  }
  if (is_image(field) && column.info.kind != ColumnKind::Numbers) {
    const Content content = content_of(block, at, row, column, folder);
    try {
      return content.path.empty() ? image_of_bytes(content.bytes, field) : image_of_file(content.path, field);
    } catch (const Misfit& misfit) {
      refuse_value("holds no such image: " + misfit.text);
    }
  }
  const at::Tensor tensor = tensor_in(block, at, row, column, field, folder);
  if (!sizes_fit(field, tensor.sizes()))
    refuse_value(fmt::format("is [{}], but {} is wanted", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "),
                             type_text(field)));
  cell.tensor = give(tensor);
  return cell;
}

/// What stands for a cell that is null.
Cell missing_cell(const FieldInfo& field) {
  Cell cell;
  if (field.form == FieldForm::Option) {
    cell.is_missing = true;
    return cell;
  }
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (cell_kind(field) != CellKind::Real || !field.dims.empty())
    refuse_value(fmt::format("is null; {} has no value for that{}", type_text(field),
                             !field.dims.empty() ? "" : ", option[…] has none"));
  cell.real = kNan;
  if (field.host[0] == '\0')
    cell.tensor = give(at::scalar_tensor(kNan, at::TensorOptions().dtype(scalar_type(field.dtype))));
  return cell;
}

}  // namespace

bool holds_field(const StoredColumn& column, const FieldInfo& field) {
  const ColumnKind kind = column.info.kind;
  const bool is_number = kind == ColumnKind::Whole || kind == ColumnKind::Real;
  // A column of nulls has no type of its own.
  if (kind == ColumnKind::Null)
    return field.form == FieldForm::Option || (cell_kind(field) == CellKind::Real && field.dims.empty());
  switch (field.host[0]) {
    case 'i': return kind == ColumnKind::Whole;
    case 'f': return is_number;
    case 'b': return kind == ColumnKind::Bool;
    case 's':
    case 'p': return kind == ColumnKind::Text || kind == ColumnKind::Bytes || !column.classes.empty();
    default: break;
  }
  if (field.dims.empty())
    return (is_number || kind == ColumnKind::Bool) && becomes(column.info.element, scalar_type(field.dtype));
  if (kind == ColumnKind::Numbers)
    return column.info.rank == field.dims.size() && becomes(column.info.element, scalar_type(field.dtype));
  if (is_image(field)) return is_bytes_or_file(column) || kind == ColumnKind::Text;
  return (is_sound(field) && is_bytes_or_file(column)) || (is_byte_list(field) && kind == ColumnKind::Bytes);
}

Cell stored_cell(const doors::RowBlock& block, size_t at, int64_t row, const StoredColumn& column,
                 const FieldInfo& field, const Str& folder) {
  try {
    // Data sets write -1 where a label is not known.
    const bool is_unlabelled = !column.classes.empty() && field.form == FieldForm::Option && !block.is_null(at, row) &&
                               block.whole(at, row) == -1;
    if (block.is_null(at, row) || is_unlabelled) return missing_cell(field);
    return value_in(block, at, row, column, field, folder);
  } catch (const std::range_error& error) {
    throw Misfit{fmt::format("the field {} {}", field.name, error.what())};
  } catch (const Misfit& misfit) {
    throw Misfit{fmt::format("the field {} {}", field.name, misfit.text)};
  }
}

Cell path_cell(std::string_view text, const FieldInfo& field) {
  if (text == "__HIVE_DEFAULT_PARTITION__") return missing_cell(field);
  Cell cell;
  int64_t whole = 0;
  switch (cell_kind(field)) {
    case CellKind::Int:
      if (!doors::parse_int(text, whole)) break;
      cell.whole = whole;
      if (field.host[0] == '\0')
        cell.tensor =
            give(converted(at::scalar_tensor(whole, at::TensorOptions().dtype(at::kLong)), scalar_type(field.dtype)));
      return cell;
    case CellKind::Real:
      if (!doors::parse_float(text, cell.real)) break;
      if (field.host[0] == '\0')
        cell.tensor = give(at::scalar_tensor(cell.real, at::TensorOptions().dtype(scalar_type(field.dtype))));
      return cell;
    case CellKind::Bool:
      if (text != "true" && text != "false") break;
      cell.whole = text == "true";
      if (field.host[0] == '\0') cell.tensor = give(at::scalar_tensor(cell.whole, at::kBool));
      return cell;
    case CellKind::Text: cell.text = text; return cell;
  }
  throw Misfit{fmt::format("is \"{}\", but {} is wanted", text, type_text(field))};
}

}  // namespace ltr
