// `sample` and `balance`: records that come as often as their weights, or classes, say. What comes follows from seed, epoch and
// place alone.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/permutation.h"
#include "runtime/data/rows.h"
#include "runtime/data/stages/strata.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

/// A number in (0, 1) for the `index`-th draw.
double uniform(uint64_t key, int64_t index) {
  return (double(mix(key + uint64_t(index) * 0x9E3779B97F4A7C15u) >> 11) + 0.5) * 0x1.0p-53;
}

/// What a stream delivers for each record, read once; R3003 for one that cannot be read, and weight 0 for one that is left out.
std::vector<double> weights_of(const Stream& stream, size_t column) {
  const StreamState& state = *stream.state();
  const FieldInfo& field = state.schema()[column];
  std::vector<double> weights(size_t(state.size()), is_mock_data() ? 1.0 : 0.0);
  Record record;
  const DeviceScope on_host(c10::kCPU);
  for (int64_t i = 0; i < state.size() && !is_mock_data(); ++i) {
    if (!state.read({0, i}, record)) continue;
    const Cell& cell = record[column];
    double& weight = weights[size_t(i)];
    if (field.host[0] == '\0')
      weight = aten(cell.tensor).item().toDouble();
    else
      weight = cell_kind(field) == CellKind::Real ? cell.real : double(cell.whole);
    if (!std::isfinite(weight) || weight < 0)
      throw error_here(err::bad_record, state.name_of({0, i}), "the weight is " + text_of(weight));
  }
  return weights;
}

/// A stage that chooses records anew in each epoch, `ordered` the first time.
class Choosing : public IndexStage {
 public:
  Choosing(const Stream& inner, int64_t seed, int64_t count)
      : IndexStage(inner), seed_(uint64_t(seed)), count_(count) {}
  int64_t size() const override { return count_; }
  bool is_fixed() const override { return false; }

 protected:
  uint64_t key(const char* purpose, const ReadAt& at, uint64_t of = 0) const {
    return random_key(seed_, purpose, {uint64_t(depth()), uint64_t(at.epoch), of});
  }

 private:
  uint64_t seed_;
  int64_t count_;
};

class Drawn : public Choosing {
 public:
  Drawn(const Stream& inner, std::vector<double> weights, int64_t seed, int64_t count)
      : Choosing(inner, seed, count), sums_(std::move(weights)) {
    for (size_t i = 1; i < sums_.size(); ++i) sums_[i] += sums_[i - 1];
  }

  ReadAt move(const ReadAt& at) const override {
    const double place = uniform(key("sample", at), at.index) * sums_.back();
    ReadAt out = at;
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), place);
    // Of weight 0 is none that ends where the one before it does.
    out.index = std::min(int64_t(found - sums_.begin()), int64_t(sums_.size()) - 1);
    out.time = mix(at.time + uint64_t(at.index) + 1);
    return out;
  }

 private:
  std::vector<double> sums_;
};

/// Without replacement: those whose -log(u) / weight are the least, in that order (Efraimidis and Spirakis 2006).
class DrawnOnce : public Choosing {
 public:
  DrawnOnce(const Stream& inner, std::vector<double> weights, int64_t seed, int64_t count)
      : Choosing(inner, seed, count), weights_(std::move(weights)) {}

  ReadAt move(const ReadAt& at) const override {
    ReadAt out = at;
    out.index = (*order(at))[size_t(at.index)];
    return out;
  }

 private:
  using Order = std::shared_ptr<const std::vector<int64_t>>;

  /// Workers read ahead over the end of an epoch, so two are kept.
  Order order(const ReadAt& at) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [epoch, order] : kept_) {
      if (order != nullptr && epoch == at.epoch) return order;
    }
    std::vector<std::pair<double, int64_t>> times;
    const uint64_t of_epoch = key("sample", at);
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] > 0) times.emplace_back(-std::log(uniform(of_epoch, int64_t(i))) / weights_[i], int64_t(i));
    }
    std::partial_sort(times.begin(), times.begin() + size(), times.end());
    std::vector<int64_t> first;
    for (int64_t i = 0; i < size(); ++i) first.push_back(times[size_t(i)].second);
    kept_[1] = std::exchange(kept_[0], {at.epoch, std::make_shared<const std::vector<int64_t>>(std::move(first))});
    return kept_[0].second;
  }

  std::vector<double> weights_;
  mutable std::mutex mutex_;
  mutable std::array<std::pair<int64_t, Order>, 2> kept_;
};

/// One record of each class in turns; the turns have orders of their own, and each class one in each pass over it.
class Balanced : public Choosing {
 public:
  Balanced(const Stream& inner, std::vector<std::vector<int64_t>> classes, int64_t seed, int64_t count)
      : Choosing(inner, seed, count), classes_(std::move(classes)) {}

  ReadAt move(const ReadAt& at) const override {
    const auto turns = int64_t(classes_.size());
    const int64_t turn = at.index / turns;
    const int64_t chosen = Permutation(turns, key("turn", at, uint64_t(turn)))(at.index % turns);
    const std::vector<int64_t>& records = classes_[size_t(chosen)];
    const auto many = int64_t(records.size());
    const uint64_t of_pass = mix(key("class", at, uint64_t(turn / many)) + uint64_t(chosen));
    ReadAt out = at;
    out.index = records[size_t(Permutation(many, of_pass)(turn % many))];
    if (turn >= many) out.time = mix(at.time + uint64_t(turn / many));
    return out;
  }

 private:
  std::vector<std::vector<int64_t>> classes_;
};

Stream sampled(const Stream& stream, const Stream& values, size_t column, int64_t seed, const Option<int64_t>& count,
               bool replacement) {
  if (count && *count < 1) throw error_here(err::out_of_range, "sample: count", *count, "count >= 1");
  need_end(stream, "sample");
  if (stream.state()->is_absent()) return stream;
  std::vector<double> weights = weights_of(values, column);
  const auto drawable = int64_t(std::count_if(weights.begin(), weights.end(), [](double one) { return one > 0; }));
  if (drawable == 0) throw error_here(err::stream_too_short, "sample: no record has a weight above 0");
  const int64_t wanted = count.value_or(replacement ? stream.state()->size() : drawable);
  if (replacement) return Stream(new Drawn(stream, std::move(weights), seed, wanted));
  if (wanted > drawable)
    throw error_here(err::stream_too_short,
                     fmt::format("sample wants {} different records, {} have a weight above 0", wanted, drawable));
  return Stream(new DrawnOnce(stream, std::move(weights), seed, wanted));
}

/// R3003 of a record that cannot be read, or lacks its class.
[[noreturn]] void refuse(const StreamState& state, int64_t index, const Str& by) {
  Record record;
  state.read({0, index}, record);
  throw with_help(error_here(err::bad_record, state.name_of({0, index}), fmt::format("the field {} is missing", by)),
                  "a filter in front of `balance` leaves such records out");
}

Stream balanced(const Stream& stream, const Stream& values, const Str& by, int64_t seed, const Option<int64_t>& count) {
  if (count && *count < 1) throw error_here(err::out_of_range, "balance: count", *count, "count >= 1");
  need_end(stream, "balance");
  if (stream.state()->is_absent()) return stream;
  std::vector<std::vector<int64_t>> classes;
  int64_t largest = 0;
  for (auto& [value, records] : strata(values, by, "balance")) {
    if (value.empty() && !records.empty() && !is_mock_data()) refuse(*values.state(), records[0], by);
    largest = std::max(largest, int64_t(records.size()));
    classes.push_back(std::move(records));
  }
  if (classes.empty()) throw error_here(err::stream_too_short, "balance: no record has a class");
  const int64_t wanted = count.value_or(largest * int64_t(classes.size()));
  return Stream(new Balanced(stream, std::move(classes), seed, wanted));
}

}  // namespace

Stream sample(const Stream& stream, const Str& weights, int64_t seed, const Option<int64_t>& count, bool replacement) {
  return sampled(stream, stream, field_at(stream, weights, "sample"), seed, count, replacement);
}
Stream sample(const Stream& stream, const Stream& weights, int64_t seed, const Option<int64_t>& count,
              bool replacement) {
  return sampled(stream, weights, 0, seed, count, replacement);
}

Stream balance(const Stream& stream, const Str& by, int64_t seed, const Option<int64_t>& count) {
  return balanced(stream, stream, by, seed, count);
}
Stream balance(const Stream& stream, const Stream& by, int64_t seed, const Option<int64_t>& count) {
  return balanced(stream, by, by.state()->schema()[0].name, seed, count);
}

}  // namespace ltr
