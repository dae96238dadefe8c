// `filter`: looks at every record once, at the start, and keeps the numbers of those for which its function is true.

#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/stages/subset.h"
#include "runtime/data/stream.h"

namespace ltr {

namespace {

using Places = std::vector<int64_t>;

/// What is kept of a stream that has another order in each epoch. `is_kept` goes by the origin of a record.
class KeptInOrder : public IndexStage {
 public:
  KeptInOrder(const Stream& inner, std::vector<char> is_kept, int64_t count)
      : IndexStage(inner), is_kept_(std::move(is_kept)), count_(count) {}

  int64_t size() const override { return count_; }

  ReadAt move(const ReadAt& at) const override {
    ReadAt out = at;
    out.index = (*places(at))[size_t(at.index)];
    return out;
  }

 private:
  struct Order {
    int64_t epoch = -1;
    bool is_ordered = false;
    std::shared_ptr<const Places> places;
  };

  /// The places of the kept records in the order of an epoch. Workers read ahead over its end, so two are kept.
  std::shared_ptr<const Places> places(const ReadAt& at) const {
    const std::lock_guard lock(mutex_);
    for (const Order& order : orders_) {
      if (order.epoch == at.epoch && order.is_ordered == at.ordered) return order.places;
    }
    Places found;
    found.reserve(size_t(count_));
    ReadAt one = at;
    for (one.index = 0; one.index < inner().size(); ++one.index) {
      if (is_kept_[size_t(inner().origin(one).at.index)] != 0) found.push_back(one.index);
    }
    orders_[1] = std::exchange(orders_[0], {at.epoch, at.ordered, std::make_shared<const Places>(std::move(found))});
    return orders_[0].places;
  }

  std::vector<char> is_kept_;
  int64_t count_;
  mutable std::mutex mutex_;
  mutable std::array<Order, 2> orders_;
};

bool keeps(const StreamState& stream, int64_t index, const Record& record, const Data& self, const FilterInfo& info) {
  const auto fail = [&](const Str& code, const Str& reason, const Location& location) {
    throw Error(code, fmt::format("{}: {}", stream.name_of({0, index}), reason),
                location.line > 0 ? location : info.location);
  };
  try {
    return info.run(self, record);
  } catch (const Error& error) {
    fail(error.code[1] == '3' ? error.code : Str(err::bad_record.code), error.message, error.location);
  } catch (const std::exception& error) {
    fail(err::bad_record.code, error.what(), info.location);
  }
  return false;
}

}  // namespace

Stream filter(const Stream& stream, const Data* self, const FilterInfo& info) {
  need_end(stream, "filter");
  const StreamState& state = *stream.state();
  if (!state.is_pure()) {
    throw with_help(
        error_at(info.location, err::settings_contradict, "filter chooses among records that are others in each epoch"),
        "put it in front of maps that draw random numbers, and of joined streams that are shuffled");
  }
  const int64_t size = state.size();
  const bool is_mock = is_mock_data();
  std::vector<char> is_kept(size_t(state.is_fixed() ? 0 : state.root()->size()));
  Places places;
  Record record;
  for (int64_t i = 0; i < size; ++i) {
    // What cannot be read is kept: who reads the stream says what is wrong with it.
    const Early found = is_mock ? Early::Bad : read_early(state, i, record);
    if (found == Early::LeftOut || (found == Early::Good && !keeps(state, i, record, *self, info))) continue;
    places.push_back(i);
    if (!is_kept.empty()) is_kept[size_t(state.origin({0, i}).at.index)] = 1;
  }
  if (state.is_fixed()) return Stream(new Subset(stream, std::move(places)));
  return Stream(new KeptInOrder(stream, std::move(is_kept), int64_t(places.size())));
}

}  // namespace ltr
