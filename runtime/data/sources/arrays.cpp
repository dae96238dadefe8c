#include "runtime/data/sources/arrays.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>

#include "doors/number.h"
#include "runtime/api/suggest.h"
#include "runtime/data/paths.h"
#include "runtime/data/row_records.h"
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

/// What is not finite among the numbers of a field.
struct NotFinite {
  int64_t count = 0;
  int64_t record = 0;  ///< of the first
  Str text;            ///< "the field x is nan", "the field x[1, 2] is inf"
};

NotFinite not_finite_in(const DenseColumn& column, const FieldInfo& field, int64_t count) {
  const at::ScalarType type = field_type(field);
  if (!at::isFloatingType(type) || count == 0 || column.width == 0) return {};
  std::vector<int64_t> sizes = field.dims;
  sizes.insert(sizes.begin(), count);
  const at::Tensor numbers = borrow(reinterpret_cast<const std::byte*>(column.bytes->data()), sizes, type);
  // The least and the largest are nan where one is: files without any are read once and take no memory.
  const auto [least, most] = at::aminmax(numbers);
  if (std::isfinite(least.item<double>()) && std::isfinite(most.item<double>())) return {};
  const at::Tensor places = at::isfinite(numbers).logical_not_().nonzero();
  const std::vector<int64_t> first(places[0].const_data_ptr<int64_t>(),
                                   places[0].const_data_ptr<int64_t>() + sizes.size());
  const int64_t width = numbers.numel() / count;
  int64_t place = 0;
  for (size_t i = 0; i < sizes.size(); ++i) place = place * sizes[i] + first[i];
  NotFinite found{places.size(0), first[0], fmt::format("the field {}", field.name)};
  if (width > 1) found.text += fmt::format("[{}]", fmt::join(first.begin() + 1, first.end(), ", "));
  found.text += " is " + doors::shortest(numbers.view({-1})[place].item<double>());
  return found;
}

}  // namespace

void note_not_finite(const Str& path, const Schema& schema, const std::vector<DenseColumn>& columns, int64_t count) {
  NotFinite all;
  for (size_t i = 0; i < schema.size(); ++i) {
    NotFinite found = not_finite_in(columns[i], schema[i], count);
    if (found.count == 0) continue;
    if (all.count == 0 || found.record < all.record) {
      all.record = found.record;
      all.text = std::move(found.text);
    }
    all.count += found.count;
  }
  if (all.count > 0)
    note_doubt(path, not_finite_text(fmt::format("{} record {}: {}", path, all.record, all.text), all.count));
}

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
  note_not_finite(path, schema, columns, count);
  return Stream(new DenseSource(schema, std::move(columns), count, path));
}

}  // namespace ltr
