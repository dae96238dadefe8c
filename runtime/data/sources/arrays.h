#pragma once

// Files of arrays, a record for each leading index.

#include "doors/npy.h"
#include "runtime/data/sources/dense.h"

namespace ltr {

/// A file that holds arrays by name.
class ArrayFile {
 public:
  virtual ~ArrayFile() = default;
  virtual std::vector<Str> names() const = 0;
  /// One of `names`.
  virtual doors::NpyArray read(const Str& name) const = 0;
};

/// `array` as the field `wanted` of all records; R3002 where it is something else.
DenseColumn array_column(doors::NpyArray array, const FieldInfo& wanted, const Str& place);

/// The fields of `schema` out of `file`, which lies at `path`; R3002 for one that is not there, that holds something else, or another
/// number of records.
Stream stacked_arrays(const ArrayFile& file, const Str& path, const Schema& schema);

/// Notes of the file at `path`, whose records have `schema`, where the first number is that is not finite, and how many are not.
void note_not_finite(const Str& path, const Schema& schema, const std::vector<DenseColumn>& columns, int64_t count);

}  // namespace ltr
