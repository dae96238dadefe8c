// `map`: runs a compiled function over records or batches. A pure one keeps its results in memory.

#include <atomic>
#include <cstring>
#include <mutex>
#include <set>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/known.h"
#include "runtime/data/left_out.h"
#include "runtime/data/rows.h"
#include "runtime/data/stages/planned.h"
#include "runtime/data/stages/row_cache.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

class Map : public Stage {
 public:
  Map(const Stream& inner, const Data* self, const MapInfo& info, const Option<int64_t>& skip_bad)
      : Map(inner, self, info, skip_bad, info.random ? next_drawing(inner.state()->depth() + 1) : 0) {}

  /// Rows from outside stand one by one: what is wrong with one is its own matter.
  Stream rebuilt(const Stream& source) const override {
    const bool is_lenient = source.state()->leaves_out_refused() && batch_size() == 0;
    return Stream(new Map(inner().rebuilt(source), self_, info_, is_lenient ? Option<int64_t>(kEndless) : std::nullopt,
                          drawing_));
  }
  bool is_fixed() const override { return !info_.random && inner().is_fixed(); }
  bool is_pure() const override { return !info_.random && inner().is_pure(); }

  void plan() const override {
    const bool can_keep = is_pure() && batch_size() == 0 && size() != kEndless && row_bytes(schema_) >= 0;
    const auto make = [&] { return RowCache::make(schema_, size(), root()->size()); };
    if (!can_keep || cache_.plan(make) == nullptr) inner().plan();
  }

  bool read(const ReadAt& at, Record& out) const override {
    const RowCache* const cache = cache_.get();
    if (cache == nullptr) return run(at, out);
    const int64_t key = inner().origin(at).at.index;
    if (const std::byte* row = cache->find(key)) {
      out.resize(schema_.size());
      for (size_t i = 0; i < schema_.size(); ++i) {
        read_cell(schema_[i], row + cache->offset(i), out[i]);
      }
      return true;
    }
    if (!run(at, out)) return false;
    cache->store(key, [&](std::byte* row) {
      for (size_t i = 0; i < schema_.size(); ++i) {
        write_cell(schema_[i], out[i], row + cache->offset(i), [&] { return name_of(at); });
      }
    });
    return true;
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    const RowCache* const cache = cache_.get();
    const std::byte* const row = cache == nullptr ? nullptr : cache->find(inner().origin(at).at.index);
    if (row == nullptr) return StreamState::fill(at, rows);
    for (size_t i = 0; i < schema_.size(); ++i) std::memcpy(rows[i], row + cache->offset(i), cache->bytes(i));
    return true;
  }

  void check() const override {
    if (!skip_bad_) inner().check();
  }
  bool is_left_out(const ReadAt& at) const override {
    {
      const std::lock_guard lock(mutex_);
      if (bad_.count(inner().origin(at).at.index) != 0) return true;
    }
    return inner().is_left_out(at);
  }

 private:
  Map(const Stream& inner, const Data* self, const MapInfo& info, const Option<int64_t>& skip_bad, uint64_t drawing)
      : Stage(info.out, inner), self_(self), info_(info), skip_bad_(skip_bad), number_(made_++), drawing_(drawing) {}

  bool run(const ReadAt& at, Record& out) const {
    thread_local std::vector<Record> pool;
    Record in;
    if (!pool.empty()) {
      in = std::move(pool.back());
      pool.pop_back();
    }
    try {
      // A record that cannot be decoded is as bad as one that the function refuses.
      if (!inner().read(at, in)) return false;
    } catch (const Error& error) {
      if (!skip_bad_ || !is_of_record(error)) throw;
      return leave_out(at, error.message);
    }
    if (info_.random) {
      const Origin origin = inner().origin(at);
      const uint64_t key =
          random_key(at.seed, "sample", {uint64_t(depth()), uint64_t(origin.at.epoch), uint64_t(origin.at.index)});
      const bool is_first = drawing_ == 0 && origin.at.time == 0;
      seed_random(is_first ? key : random_key(key, "again", {drawing_, origin.at.time}));
    }
    out.resize(schema_.size());
    try {
      info_.run(*self_, in, out);
    } catch (const Error& error) {
      return refuse(at, out, error.message, error.code, error.location);
    } catch (const std::exception& error) {
      return refuse(at, out, error.what(), "R3003", info_.location);
    }
    for (size_t i = 0; i < schema_.size(); ++i) {
      if (is_too_large(schema_[i], out[i]))
        return refuse(at, out, too_large_text(schema_[i], out[i]), "R3003", info_.location);
    }
    pool.push_back(std::move(in));
    return true;
  }

  bool refuse(const ReadAt& at, Record& out, const Str& reason, const Str& code, const Location& location) const {
    if (inner().leaves_out_refused() && !at.is_unlabelled) {
      ReadAt again = at;
      again.is_unlabelled = true;
      if (run(again, out)) return true;
    }
    if (skip_bad_) return leave_out(at, name_of(at) + ": " + reason);
    const Str& kept = code[1] == '3' ? code : Str("R3003");
    throw Error(kept, fmt::format("{}: {}", name_of(at), reason), location.line > 0 ? location : info_.location);
  }

  /// `reason` begins with its place. Always false.
  bool leave_out(const ReadAt& at, const Str& reason) const {
    if (at.is_unlabelled) return false;
    {
      const std::lock_guard lock(mutex_);
      bad_.insert(inner().origin(at).at.index);
    }
    const Str place = name_of(at);
    const bool repeats = reason.starts_with(place + ": ");
    note_left_out({number_, *skip_bad_, info_.location, place, repeats ? reason.substr(place.size() + 2) : reason});
    return false;
  }

  static inline std::atomic<int64_t> made_{0};

  const Data* self_;
  MapInfo info_;
  Option<int64_t> skip_bad_;
  int64_t number_;
  uint64_t drawing_;  ///< which of the random maps with as many stages below
  mutable std::mutex mutex_;
  mutable std::set<int64_t> bad_;
  mutable Planned<RowCache> cache_;
};

}  // namespace

Stream map(const Stream& stream, const Data* self, const MapInfo& info, const Option<int64_t>& skip_bad) {
  if (skip_bad && *skip_bad < 0) throw error_here(err::out_of_range, "map: skip", *skip_bad, "skip >= 0");
  return Stream(new Map(stream, self, info, skip_bad));
}

Stream synthetic(int64_t n, const Data* self, const MapInfo& info) { return map(range(n), self, info); }

}  // namespace ltr
