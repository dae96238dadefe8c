// `bucket`: records of like size next to each other, so that little of a batch is padding.

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/permutation.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

/// Batches that are sorted together.
constexpr int64_t kRun = 50;

/// Gives the size of a record.
class Sizes {
 public:
  /// `by` names a field of `records`, or is empty, and `sizes` delivers one number for each of them.
  Sizes(const Stream& records, const Str& by, const Stream& sizes) : stream_(by.empty() ? sizes : records) {
    if (by.empty()) return;
    const Schema& fields = records.state()->schema();
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const FieldInfo& one) { return by == one.name; });
    if (field == fields.end()) throw error_here(err::schema_differs, "bucket", fmt::format("there is no field {}", by));
    column_ = size_t(field - fields.begin());
    is_length_ = true;
    is_text_ = field->host[0] != '\0';
  }

  /// 0 of a record that cannot be read: who reads it later says so.
  int64_t of(const ReadAt& at) const {
    const StreamState& state = *stream_.state();
    const bool is_kept = state.is_pure() && state.size() != kEndless;
    const int64_t key = is_kept ? state.origin(at).at.index : 0;
    if (is_kept) {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    Record record;
    int64_t size = 0;
    try {
      if (state.read(at, record)) size = size_in(record);
    } catch (const Error& error) {
      if (!is_of_record(error)) throw;
    }
    if (!is_kept) return size;
    const std::lock_guard lock(mutex_);
    known_.emplace(key, size);
    return size;
  }

 private:
  int64_t size_in(const Record& record) const {
    const Cell& cell = record[column_];
    if (!is_length_) return cell.whole;
    return is_text_ ? int64_t(cell.text.size()) : aten(cell.tensor).size(-1);
  }

  Stream stream_;
  size_t column_ = 0;
  bool is_length_ = false;
  bool is_text_ = false;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, int64_t> known_;
};

class Bucket : public IndexStage {
 public:
  Bucket(const Stream& inner, std::shared_ptr<const Sizes> sizes, int64_t width)
      : IndexStage(inner), sizes_(std::move(sizes)), width_(width) {}

  bool is_fixed() const override { return false; }
  void group(int64_t size) const override { batch_ = size; }

  ReadAt move(const ReadAt& at) const override {
    const int64_t batch = batch_;
    if (at.ordered || batch == 0) return at;
    const int64_t run = at.index / (batch * kRun);
    ReadAt out = at;
    out.index = (*order(at, run, batch))[size_t(at.index - run * batch * kRun)];
    return out;
  }

 private:
  using Order = std::shared_ptr<const std::vector<int64_t>>;

  /// Where the records of a run stand in the inner stream. It hangs on seed, epoch and run alone; the last ones are kept.
  Order order(const ReadAt& at, int64_t run, int64_t batch) const {
    const std::tuple<int64_t, uint64_t, int64_t> key{at.epoch, at.seed, run};
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [known, order] : kept_) {
        if (known == key) return order;
      }
    }
    Order made = std::make_shared<const std::vector<int64_t>>(make(at, run, batch));
    const std::lock_guard lock(mutex_);
    kept_.emplace_back(key, made);
    if (kept_.size() > kKept) kept_.erase(kept_.begin());
    return made;
  }

  std::vector<int64_t> make(const ReadAt& at, int64_t run, int64_t batch) const {
    const int64_t first = run * batch * kRun;
    const int64_t count = size() == kEndless ? batch * kRun : std::min(batch * kRun, size() - first);
    std::vector<std::pair<int64_t, int64_t>> sized;
    for (int64_t i = 0; i < count; ++i) {
      ReadAt one = at;
      one.index = first + i;
      sized.emplace_back(sizes_->of(one) / width_, first + i);
    }
    std::sort(sized.begin(), sized.end());
    const int64_t full = count / batch;
    const uint64_t key = random_key(at.seed, "bucket", {uint64_t(depth()), uint64_t(at.epoch), uint64_t(run)});
    const Permutation shuffled(std::max(full, int64_t(1)), key);
    // A batch that is not full stays the last one. It is of other sizes in each epoch: where it is left out, these are.
    if (const int64_t rest = count % batch; rest > 0) {
      const int64_t place = Permutation(
          full + 1, random_key(at.seed, "bucket rest", {uint64_t(depth()), uint64_t(at.epoch), uint64_t(run)}))(0);
      std::rotate(sized.begin() + place * batch, sized.begin() + place * batch + rest, sized.end());
    }
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t of = i / batch;
      order.push_back(sized[size_t(of < full ? shuffled(of) * batch + i % batch : i)].second);
    }
    return order;
  }

  static constexpr size_t kKept = 4;

  std::shared_ptr<const Sizes> sizes_;
  int64_t width_;
  mutable std::atomic<int64_t> batch_{0};
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::tuple<int64_t, uint64_t, int64_t>, Order>> kept_;
};

Stream make(const Stream& stream, const Str& by, const Stream& sizes, int64_t width) {
  need_end(stream, "bucket");
  if (width < 1) throw error_here(err::out_of_range, "bucket: width", width, "width >= 1");
  return Stream(new Bucket(stream, std::make_shared<const Sizes>(stream, by, sizes), width));
}

}  // namespace

Stream bucket(const Stream& stream, const Str& by, int64_t width) { return make(stream, by, {}, width); }
Stream bucket(const Stream& stream, const Stream& by, int64_t width) { return make(stream, "", by, width); }

}  // namespace ltr
