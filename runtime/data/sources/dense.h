#pragma once

// Records of fixed size that lie in memory, each field beside the others.

#include <cstring>
#include <memory>

#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"

namespace ltr {

/// One field of all records: record i has `stride` bytes from `offset + i * stride` on.
struct DenseColumn {
  std::shared_ptr<const Str> bytes;
  size_t offset = 0;
  size_t stride = 0;
  size_t width = 0;
};

/// Labels of a byte, of records `first` to `end` of those that came of `path`, must be classes: a damaged or exchanged file shows
/// here, long before a loss. How many are of each class is noted.
inline void check_labels(const Str& path, const DenseColumn& labels, int64_t first, int64_t end, int64_t classes) {
  std::vector<int64_t> counts(size_t(classes), 0);
  for (int64_t i = first; i < end; ++i) {
    const auto label = int64_t(uint8_t((*labels.bytes)[labels.offset + size_t(i) * labels.stride]));
    if (label < classes) {
      ++counts[size_t(label)];
      continue;
    }
    throw error_here(err::value_out_of_range, fmt::format("{} record {}: the label is {}, but there are {} classes",
                                                          path, i - first, label, classes));
  }
  note_classes(path, counts);
}

class DenseSource : public Source {
 public:
  DenseSource(Schema fields, std::vector<DenseColumn> columns, int64_t size, Str name)
      : Source(std::move(fields)), columns_(std::move(columns)), size_(size), name_(std::move(name)) {}

  int64_t size() const override { return size_; }
  Str name_of(const ReadAt& at) const override { return fmt::format("{} record {}", name_, at.index); }

  bool read(const ReadAt& at, Record& out) const override {
    out.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) read_cell(schema_[i], row(i, at.index), out[i]);
    return true;
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    for (size_t i = 0; i < columns_.size(); ++i) {
      std::memcpy(rows[i], row(i, at.index), columns_[i].width);
    }
    return true;
  }

 private:
  const std::byte* row(size_t column, int64_t index) const {
    const DenseColumn& c = columns_[column];
    const void* place = c.bytes->data() + c.offset + size_t(index) * c.stride;
    return static_cast<const std::byte*>(place);
  }

  std::vector<DenseColumn> columns_;
  int64_t size_;
  Str name_;
};

}  // namespace ltr
