// `cache`: keeps the records that it delivers, in memory or on the disk.

#include <cstring>

#include "doors/bytes.h"
#include "doors/hash.h"
#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/cache_folder.h"
#include "runtime/data/cell_bytes.h"
#include "runtime/data/files_read.h"
#include "runtime/data/known.h"
#include "runtime/data/record_store.h"
#include "runtime/data/rows.h"
#include "runtime/data/stages/planned.h"
#include "runtime/data/stages/row_cache.h"
#include "runtime/data/stream.h"

namespace ltr {

namespace {

/// Like the memory of a pure map, but asked for and with its own limit.
class MemoryCache : public IndexStage {
 public:
  MemoryCache(const Stream& inner, int64_t limit) : IndexStage(inner), limit_(limit) {}
  ReadAt move(const ReadAt& at) const override { return at; }
  /// What stages behind it draw is the same with and without it.
  int depth() const override { return inner().depth(); }

  void plan() const override {
    const bool can_keep = size() != kEndless && row_bytes(schema_) >= 0;
    const auto make = [&] { return RowCache::make(schema_, size(), root()->size(), limit_); };
    if (!can_keep || cache_.plan(make) == nullptr) inner().plan();
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    const RowCache* const cache = cache_.get();
    if (cache == nullptr) return inner().fill(at, rows);
    const int64_t key = origin(at).at.index;
    if (const std::byte* const row = cache->find(key)) {
      for (size_t i = 0; i < schema_.size(); ++i) std::memcpy(rows[i], row + cache->offset(i), cache->bytes(i));
      return true;
    }
    if (!inner().fill(at, rows)) return false;
    cache->store(key, [&](std::byte* to) {
      for (size_t i = 0; i < schema_.size(); ++i) std::memcpy(to + cache->offset(i), rows[i], cache->bytes(i));
    });
    return true;
  }

 private:
  int64_t limit_;
  mutable Planned<RowCache> cache_;
};

/// Records of any fields, which other runs find where program, settings and files are the same.
class DiskCache : public IndexStage {
 public:
  DiskCache(const Stream& inner, int64_t limit) : IndexStage(inner), limit_(limit), number_(next_stage_number()) {}
  ReadAt move(const ReadAt& at) const override { return at; }
  /// What stages behind it draw is the same with and without it.
  int depth() const override { return inner().depth(); }

  void plan() const override {
    const auto make = [&] { return size() == kEndless ? nullptr : open_store(); };
    if (store_.plan(make) == nullptr) inner().plan();
  }

  bool read(const ReadAt& at, Record& out) const override {
    RecordStore* const store = store_.get();
    // What a row from outside stands in for is made up in part.
    if (store == nullptr || at.is_unlabelled) return inner().read(at, out);
    const int64_t number = origin(at).at.index;
    // Taken away while it is in use: a stage below may be another one of these.
    thread_local Str room;
    Str bytes = std::move(room);
    bool is_there = store->find(number, bytes);
    if (is_there && !is_record(bytes, out)) {
      store->forget(number);
      is_there = false;
    }
    FilesRead files;
    if (!is_there && inner().read(at, out)) {
      is_there = true;
      const Str named = files.text();
      bytes.clear();
      doors::put_le(bytes, uint32_t(named.size()));
      bytes += named;
      append_record(out, bytes);
      store->store(number, bytes);
    }
    room = std::move(bytes);
    return is_there;
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override { return StreamState::fill(at, rows); }

 private:
  /// Behind the files that it names, which may be others now.
  bool is_record(std::string_view bytes, Record& out) const {
    if (bytes.size() < 4) return false;
    const auto named = doors::get_le<uint32_t>(bytes.data());
    return bytes.size() >= 4 + size_t(named) && FilesRead::are_same(bytes.substr(4, named)) &&
           parse_record(bytes.substr(4 + named), schema_.size(), out);
  }

  /// Null where nothing says what the records hang on, or there is no place for them.
  std::unique_ptr<RecordStore> open_store() const {
    const std::filesystem::path folder = cache_folder("records");
    const Str all = records_key();
    if (folder.empty() || all.empty()) return nullptr;
    const Location& place = location();
    // Which stage of the program it is, of which several may have the same line; the last number is that of the form of the records.
    Str stage =
        fmt::format("{}\n{}:{} {} {} {} {} 2", all, place.file, place.line, number_, depth(), size(), root()->size());
    for (const FieldInfo& field : schema_) stage += fmt::format("\n{}: {}", field.name, type_text(field));
    const Str key = doors::sha256_hex(stage);
    remove_old_stores(folder);
    return std::make_unique<RecordStore>(folder / key, key, fmt::format("cache(disk) of {}:{}", place.file, place.line),
                                         size(), limit_);
  }

  int64_t limit_;
  int64_t number_;
  mutable Planned<RecordStore> store_;
};

}  // namespace

Stream cache(const Stream& stream, const Str& where, int64_t limit_bytes) {
  const StreamState& state = *stream.state();
  if (!state.is_pure()) {
    throw error_here(err::settings_contradict, "cache stands behind a map that draws random numbers");
  }
  if (where == "memory") return Stream(new MemoryCache(stream, limit_bytes));
  // Which records a batch lacks is known by whoever made it, and a later run would not hear of them.
  if (state.batch_size() != 0) {
    throw with_help(error_here(err::settings_contradict, "cache(disk) keeps records, and these are batches"),
                    "put it in front of `collate`");
  }
  return Stream(new DiskCache(stream, limit_bytes));
}

}  // namespace ltr
