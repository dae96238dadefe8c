// libltr_arrow: what `doors/column_file.h` asks, answered by Arrow.

#include <arrow/util/key_value_metadata.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "doors/arrow/cells.h"
#include "doors/arrow/formats.h"
#include "doors/limits.h"

namespace ltr::doors {

OpenFile::OpenFile(const std::string& path)
    : file_(needed(arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ))) {}

void OpenFile::set_schema(const std::shared_ptr<arrow::Schema>& schema) {
  schema_ = schema;
  for (const auto& field : schema->fields()) columns_.push_back(column_info(*field));
}

std::string OpenFile::note(const std::string& key) const {
  const auto& notes = schema_->metadata();
  if (notes == nullptr) return "";
  return notes->Get(key).ValueOr("");
}

void OpenFile::add_block(int64_t rows) {
  if (rows < 0 || rows > limits::kBlockRows)
    refuse(std::to_string(rows) + " rows together; the most is " + std::to_string(limits::kBlockRows));
  blocks_.push_back(rows);
  rows_ += rows;
  if (rows_ > limits::kColumnRows) refuse("more than " + std::to_string(limits::kColumnRows) + " rows");
}

std::shared_ptr<arrow::MemoryPool> block_pool() {
  return std::make_shared<arrow::CappedMemoryPool>(arrow::default_memory_pool(), limits::kBlockBytes);
}

}  // namespace ltr::doors

extern "C" __attribute__((visibility("default"))) std::unique_ptr<ltr::doors::ColumnFile> ltr_open_column_file(
    const std::string& path, ltr::doors::ColumnFormat format) {
  // What Arrow does not return, it throws: parquet::ParquetException, std::bad_alloc, std::length_error.
  try {
    return format == ltr::doors::ColumnFormat::Parquet ? ltr::doors::open_parquet(path) : ltr::doors::open_arrow(path);
  } catch (const ltr::doors::ColumnFileError&) {
    throw;
  } catch (const std::exception& error) {
    throw ltr::doors::ColumnFileError(error.what());
  }
}

/// The names of its columns as a list in JSON, to be freed; null if it is no such file. Nothing is thrown.
extern "C" __attribute__((visibility("default"))) char* ltr_column_names(const char* path, int format) {
  try {
    auto names = nlohmann::json::array();
    const auto file = ltr_open_column_file(path, ltr::doors::ColumnFormat(format));
    for (const ltr::doors::ColumnInfo& column : file->columns()) names.push_back(column.name);
    return ::strdup(names.dump().c_str());
  } catch (const std::exception&) {
    return nullptr;
  }
}
