// Parquet: row groups are blocks, each decoded when it is read.

#include <parquet/api/reader.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>

#include "doors/arrow/cells.h"
#include "doors/arrow/formats.h"

namespace ltr::doors {

namespace {

/// The stored columns below one of the schema.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.column_index >= 0) leaves.push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

class ParquetFile : public OpenFile {
 public:
  explicit ParquetFile(const std::string& path) : OpenFile(path) {
    const auto reader = open(arrow::default_memory_pool());
    metadata_ = reader->parquet_reader()->metadata();
    std::shared_ptr<arrow::Schema> schema;
    need(reader->GetSchema(&schema));
    set_schema(schema);
    int64_t rows = 0;
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      add_block(metadata_->RowGroup(i)->num_rows());
      rows += blocks().back();
    }
    if (rows != metadata_->num_rows())
      refuse("its row groups hold " + std::to_string(rows) + " rows, and it says " +
             std::to_string(metadata_->num_rows()));
  }

  void choose(const std::vector<size_t>& columns) override {
    const auto reader = open(arrow::default_memory_pool());
    for (const size_t column : columns) {
      std::vector<int> leaves;
      add_leaves(reader->manifest().schema_fields[column], leaves);
      nulls_.push_back(leaves.size() == 1 ? nulls_of(leaves[0]) : -1);
      leaves_.insert(leaves_.end(), leaves.begin(), leaves.end());
      names_.push_back(this->columns()[column].name);
    }
  }

  std::shared_ptr<const RowBlock> read(size_t block) const override {
    try {
      const auto pool = block_pool();
      const auto reader = open(pool.get());
      const auto read = needed(reader->ReadRowGroup(int(block), leaves_));
      std::vector<std::shared_ptr<arrow::Field>> fields;
      std::vector<std::shared_ptr<arrow::ChunkedArray>> columns;
      for (const std::string& name : names_) {
        const int index = read->schema()->GetFieldIndex(name);
        if (index < 0) refuse("its column " + name + " cannot be read");
        fields.push_back(read->schema()->field(index));
        columns.push_back(read->column(index));
      }
      if (read->num_rows() != blocks()[block])
        refuse("a row group holds " + std::to_string(read->num_rows()) + " rows, and says " +
               std::to_string(blocks()[block]));
      return make_block(pool, arrow::Table::Make(arrow::schema(fields), columns, read->num_rows()));
    } catch (const ColumnFileError&) {
      throw;
    } catch (const std::exception& error) {
      refuse(error.what());
    }
  }

 private:
  /// Readers share the mapped file and what its end says; each has its own state, so that threads need not wait.
  std::unique_ptr<parquet::arrow::FileReader> open(arrow::MemoryPool* pool) const {
    parquet::ReaderProperties properties(pool);
    parquet::arrow::FileReaderBuilder builder;
    need(builder.Open(file_, properties, metadata_));
    std::unique_ptr<parquet::arrow::FileReader> reader;
    need(builder.memory_pool(pool)->Build(&reader));
    return reader;
  }

  int64_t nulls_of(int leaf) const {
    int64_t nulls = 0;
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      const auto statistics = metadata_->RowGroup(i)->ColumnChunk(leaf)->statistics();
      if (statistics == nullptr || !statistics->HasNullCount()) return -1;
      nulls += statistics->null_count();
    }
    return nulls;
  }

  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<int> leaves_;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<ColumnFile> open_parquet(const std::string& path) { return std::make_unique<ParquetFile>(path); }

}  // namespace ltr::doors
