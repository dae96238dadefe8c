// Arrow: record batches are blocks, of a file or of a stream. What is not packed is read where it lies in the mapped file.

#include <arrow/ipc/reader.h>

#include <algorithm>

#include "doors/arrow/cells.h"
#include "doors/arrow/formats.h"

namespace ltr::doors {

namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

arrow::ipc::IpcReadOptions options(arrow::MemoryPool* pool) {
  arrow::ipc::IpcReadOptions options;
  options.memory_pool = pool;
  options.use_threads = false;
  return options;
}

/// The chosen columns of a batch, in their order. Some may be named twice.
std::shared_ptr<arrow::Table> table_of(const Batch& batch, const std::vector<size_t>& columns) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const size_t column : columns) {
    fields.push_back(batch->schema()->field(int(column)));
    arrays.push_back(batch->column(int(column)));
  }
  return arrow::Table::Make(arrow::schema(fields), arrays, batch->num_rows());
}

/// A file names the place of each batch.
class BatchFile : public OpenFile {
 public:
  explicit BatchFile(const std::string& path) : OpenFile(path) {
    set_schema(open({}, arrow::default_memory_pool())->schema());
  }

  void choose(const std::vector<size_t>& columns) override {
    chosen_ = columns;
    nulls_.assign(columns.size(), 0);
    auto reader = open(chosen_, arrow::default_memory_pool());
    for (int i = 0; i < reader->num_record_batches(); ++i) {
      const int64_t before = arrow::default_memory_pool()->total_bytes_allocated();
      const Batch batch = needed(reader->ReadRecordBatch(i));
      add_block(batch->num_rows());
      if (nulls_.empty() || nulls_[0] < 0) continue;
      for (size_t column = 0; column < columns.size(); ++column)
        nulls_[column] += batch->column(place_of(column))->null_count();
      // Much that is packed would be unpacked for its nulls alone.
      constexpr int64_t kMuch = 1 << 20;
      const bool is_packed = arrow::default_memory_pool()->total_bytes_allocated() - before > kMuch;
      if (!is_packed) continue;
      nulls_.assign(columns.size(), -1);
      reader = open({columns[0]}, arrow::default_memory_pool());
    }
  }

  std::shared_ptr<const RowBlock> read(size_t block) const override {
    try {
      const auto pool = block_pool();
      const auto reader = open(chosen_, pool.get());
      const Batch batch = needed(reader->ReadRecordBatch(int(block)));
      std::vector<size_t> places;
      for (size_t column = 0; column < chosen_.size(); ++column) places.push_back(size_t(place_of(column)));
      return make_block(pool, table_of(batch, places));
    } catch (const ColumnFileError&) {
      throw;
    } catch (const std::exception& error) {
      refuse(error.what());
    }
  }

 private:
  /// Where a chosen column stands in what is read: the reader leaves out the others.
  int place_of(size_t chosen) const {
    return int(std::count_if(chosen_.begin(), chosen_.end(), [&](size_t one) { return one < chosen_[chosen]; }));
  }

  std::shared_ptr<arrow::ipc::RecordBatchFileReader> open(const std::vector<size_t>& columns,
                                                          arrow::MemoryPool* pool) const {
    auto with = options(pool);
    with.included_fields.assign(columns.begin(), columns.end());
    return needed(arrow::ipc::RecordBatchFileReader::Open(file_.get(), with));
  }

  std::vector<size_t> chosen_;
};

/// A stream is read from its begin, so all batches are kept: they cost nothing unless they are packed.
class BatchStream : public OpenFile {
 public:
  explicit BatchStream(const std::string& path) : OpenFile(path), pool_(block_pool()) {
    const auto reader = needed(arrow::ipc::RecordBatchStreamReader::Open(file_, options(pool_.get())));
    set_schema(reader->schema());
    for (;;) {
      Batch batch;
      need(reader->ReadNext(&batch));
      if (batch == nullptr) break;
      add_block(batch->num_rows());
      batches_.push_back(std::move(batch));
    }
  }

  void choose(const std::vector<size_t>& columns) override {
    chosen_ = columns;
    for (const size_t column : columns) {
      nulls_.push_back(0);
      for (const Batch& batch : batches_) nulls_.back() += batch->column(int(column))->null_count();
    }
  }

  std::shared_ptr<const RowBlock> read(size_t block) const override {
    return make_block(pool_, table_of(batches_[block], chosen_));
  }

 private:
  std::shared_ptr<arrow::MemoryPool> pool_;
  std::vector<Batch> batches_;
  std::vector<size_t> chosen_;
};

}  // namespace

std::unique_ptr<ColumnFile> open_arrow(const std::string& path) {
  const auto file = needed(arrow::io::ReadableFile::Open(path));
  const auto begin = needed(file->Read(6));
  if (begin->ToString() == "ARROW1") return std::make_unique<BatchFile>(path);
  return std::make_unique<BatchStream>(path);
}

}  // namespace ltr::doors
