// `npy` and `npz`: arrays of NumPy, a record for each leading index.

#include <ATen/ATen.h>
#include <algorithm>

#include "doors/mapping.h"
#include "doors/npy.h"
#include "doors/zip.h"
#include "ltr/streams.h"
#include "runtime/api/suggest.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/sources/dense.h"
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

/// `array` as the field `wanted` of all records; R3002 where it is something else.
DenseColumn array_column(doors::NpyArray array, const FieldInfo& wanted, const Str& place) {
  if (array.shape.empty())
    throw error_here(err::schema_differs, place, fmt::format("{} is one number, not one for each record", wanted.name));
  const at::ScalarType stored = stored_type(array.dtype).value();
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

Str names_text(const std::vector<Str>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

Stream open_npz(const Str& path, const Schema& schema) {
  note_opened(path);
  return reading(path, [&] {
    const doors::Mapping file(path);
    const std::vector<doors::ZipEntry> entries = doors::read_zip(path, file);
    std::vector<Str> names;
    for (const doors::ZipEntry& entry : entries) {
      if (entry.name.ends_with(".npy")) names.push_back(entry.name.substr(0, entry.name.size() - 4));
    }
    std::vector<DenseColumn> columns;
    int64_t count = -1;
    for (const FieldInfo& field : schema) {
      const auto found = std::find_if(entries.begin(), entries.end(), [&](const doors::ZipEntry& entry) {
        return entry.name == Str(field.name) + ".npy";
      });
      if (found == entries.end()) {
        const Str near = nearest(field.name, names);
        throw error_here(err::schema_differs, path,
                         fmt::format("it holds no array {}{} (it has: {})", field.name,
                                     near.empty() ? "" : fmt::format("; did you mean {}?", near), names_text(names)));
      }
      doors::NpyArray array = doors::parse_npy(doors::unpacked(path, file, *found), path + ":" + field.name);
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
  });
}

}  // namespace

Stream npz(const Str& file, const Schema& schema) {
  return open_source(schema, [&] { return open_npz(find_path(file), schema); });
}

Stream npy(const Str& file, const Schema& schema) {
  if (schema.size() != 1)
    throw error_here(err::schema_differs, file, "an npy file is one array: name one field, `as {x: f32[3]}`");
  return open_source(schema, [&] {
    const Str path = find_path(file);
    note_opened(path);
    doors::NpyArray array = reading(path, [&] { return doors::read_npy(path); });
    const int64_t count = array.shape.empty() ? 0 : array.shape[0];
    std::vector<DenseColumn> columns = {array_column(std::move(array), schema[0], path)};
    note_records(path, count);
    return Stream(new DenseSource(schema, std::move(columns), count, path));
  });
}

}  // namespace ltr
