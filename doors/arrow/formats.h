#pragma once

// The two formats, each behind the same face.

#include <arrow/api.h>
#include <arrow/io/file.h>

#include "doors/column_file.h"

namespace ltr::doors {

/// What both have in common: a mapped file, and its schema.
class OpenFile : public ColumnFile {
 public:
  explicit OpenFile(const std::string& path);
  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::string note(const std::string& key) const override;
  const std::vector<int64_t>& blocks() const override { return blocks_; }
  int64_t nulls(size_t column) const override { return nulls_[column]; }

 protected:
  void set_schema(const std::shared_ptr<arrow::Schema>& schema);
  /// A block of so many rows comes next; ColumnFileError for a number that no file has.
  void add_block(int64_t rows);
  [[noreturn]] void refuse(const std::string& reason) const { throw ColumnFileError(reason); }

  std::shared_ptr<arrow::io::MemoryMappedFile> file_;
  std::vector<int64_t> nulls_;

 private:
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<ColumnInfo> columns_;
  std::vector<int64_t> blocks_;
  int64_t rows_ = 0;
};

/// Memory of one block: what asks for more than limits::kBlockBytes is refused.
std::shared_ptr<arrow::MemoryPool> block_pool();

std::unique_ptr<ColumnFile> open_parquet(const std::string& path);
std::unique_ptr<ColumnFile> open_arrow(const std::string& path);

}  // namespace ltr::doors
