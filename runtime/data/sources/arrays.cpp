#include "runtime/data/sources/arrays.h"

#include <ATen/ATen.h>
#include <algorithm>

#include "runtime/api/suggest.h"
#include "runtime/data/paths.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Its numbers, which are `stored`, as `type`.
void convert(doors::NpyArray& array, at::ScalarType stored, at::ScalarType type) {
  if (stored == type) return;
  const at::Tensor numbers = at::from_blob(array.data.data(), array.shape, at::TensorOptions().dtype(stored)).to(type);
  array.data.assign(static_cast<const char*>(numbers.const_data_ptr()), size_t(numbers.nbytes()));
}

/// Whether numbers that are `stored` are what a program calls so: a `float` and an `int` are of any width.
bool holds(at::ScalarType stored, const FieldInfo& wanted) {
  if (Str(wanted.host) == "int") return at::isIntegralType(stored, /*includeBool=*/false);
  if (wanted.dtype == DType::Float) return at::isFloatingType(stored);
  return wanted.host[0] == '\0' && wanted.dtype == dtype_of(stored);
}

}  // namespace

DenseColumn array_column(doors::NpyArray array, const FieldInfo& wanted, const Str& place) {
  if (array.shape.empty())
    throw error_here(err::schema_differs, place, fmt::format("{} is one number, not one for each record", wanted.name));
  const auto known = stored_type(array.dtype);
  if (!known)
    throw error_here(err::schema_differs, place,
                     fmt::format("{} holds {}, which no field can be", wanted.name, array.dtype));
  const at::ScalarType stored = *known;
  const FieldInfo found{wanted.name, dtype_of(stored), {array.shape.begin() + 1, array.shape.end()}, ""};
  const bool is_held = holds(stored, wanted);
  if (!is_held || wanted.dims != found.dims) {
    const Error error =
        error_here(err::schema_differs, place,
                   fmt::format("{} holds {}, the program says {}", wanted.name, type_text(found), type_text(wanted)));
    throw with_help(error, is_held ? "write the sizes that it holds; a map shapes them: `x.reshape(…)`"
                                   : "write what it holds; a map converts: `x.to(float)`");
  }
  convert(array, stored, field_type(wanted));
  const auto width = size_t(row_bytes(wanted));
  return {std::make_shared<const Str>(std::move(array.data)), 0, width, width};
}

Stream stacked_arrays(const ArrayFile& file, const Str& path, const Schema& schema) {
  const std::vector<Str> names = file.names();
  std::vector<DenseColumn> columns;
  int64_t count = -1;
  for (const FieldInfo& field : schema) {
    if (std::find(names.begin(), names.end(), field.name) == names.end()) {
      const Str near = nearest(field.name, names);
      throw error_here(
          err::schema_differs, path,
          fmt::format("it holds no array {}{} (it has: {})", field.name,
                      near.empty() ? "" : fmt::format("; did you mean {}?", near), fmt::join(names, ", ")));
    }
    doors::NpyArray array = file.read(field.name);
    const int64_t records = array.shape.empty() ? 0 : array.shape[0];
    columns.push_back(array_column(std::move(array), field, path));
    if (count >= 0 && records != count) {
      throw error_here(err::schema_differs, path,
                       fmt::format("{} has {} records, {} has {}", schema[0].name, count, field.name, records));
    }
    count = records;
  }
  note_records(path, count);
  return Stream(new DenseSource(schema, std::move(columns), count, path));
}

}  // namespace ltr
