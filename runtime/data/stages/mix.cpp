// `mix`: streams in one, by their shares.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/permutation.h"
#include "runtime/data/stream.h"
#include "runtime/tables/ranges.h"

namespace ltr {

namespace {

/// The rhythm in which streams take turns: `pattern[k % length]` is the stream of record k. Of the first n records each stream
/// has its share of n, `counts / length`, but for less than one, so of any n records in a row but for less than two.
struct Rhythm {
  std::vector<uint32_t> pattern;
  std::vector<int64_t> ranks;   ///< of each place: how many of its stream stand before it
  std::vector<int64_t> counts;  ///< of each stream: its places

  int64_t length() const { return int64_t(pattern.size()); }
};

/// How many of `length` places each share gets, rounded by largest remainder.
std::vector<int64_t> places_of(const std::vector<double>& shares, int64_t length) {
  std::vector<int64_t> counts;
  std::vector<double> rests;
  for (const double share : shares) {
    counts.push_back(int64_t(std::floor(share * double(length) + 1e-9)));
    rests.push_back(share * double(length) - double(counts.back()));
  }
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rests[a] > rests[b]; });
  const int64_t left = length - std::accumulate(counts.begin(), counts.end(), int64_t(0));
  for (int64_t i = 0; i < left; ++i) ++counts[order[size_t(i)]];
  return counts;
}

/// The shortest rhythm in which the shares are whole numbers; one of a million places where there is none.
Rhythm rhythm_of(const std::vector<double>& shares) {
  constexpr int64_t kShort = 10'000;
  constexpr int64_t kLong = 1'000'000;
  int64_t length = 1;
  const auto is_whole = [&](double share) {
    const double places = share * double(length);
    return std::abs(places - std::round(places)) < 1e-9 && std::round(places) >= 1;
  };
  while (length <= kShort && !std::all_of(shares.begin(), shares.end(), is_whole)) ++length;
  if (length > kShort) length = kLong;
  Rhythm rhythm;
  rhythm.counts = places_of(shares, length);
  std::vector<int64_t> taken(shares.size(), 0);
  // Place j of a stream with c of them may stand from j * length / c on, and must stand before (j + 1) * length / c: then it is
  // never a whole record ahead or behind. There is an order that keeps to this, since the shares fill the length, and taking
  // whoever must come first finds it, as earliest deadline first does for jobs of one length (Liu and Layland 1973).
  const auto may = [&](size_t i, int64_t place) { return taken[i] * length < rhythm.counts[i] * (place + 1); };
  const auto end = [&](size_t i) { return ((taken[i] + 1) * length + rhythm.counts[i] - 1) / rhythm.counts[i]; };
  for (int64_t place = 0; place < length; ++place) {
    size_t next = shares.size();
    for (size_t i = 0; i < shares.size(); ++i) {
      if (may(i, place) && (next == shares.size() || end(i) < end(next))) next = i;
    }
    rhythm.pattern.push_back(uint32_t(next));
    rhythm.ranks.push_back(taken[next]++);
  }
  return rhythm;
}

class Mix : public StreamState {
 public:
  Mix(const std::vector<Stream>& parts, Rhythm rhythm)
      : StreamState(parts[0].state()->schema()), parts_(parts), rhythm_(std::move(rhythm)), size_(shortest()) {
    for (uint32_t stream = 0; stream < parts_.size(); ++stream) taken_.push_back(taken_of(stream));
  }

  int64_t size() const override { return size_; }
  bool is_fixed() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const Stream& part) { return part.state()->is_fixed() && !goes_on(part, size_); });
  }
  bool is_absent() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const Stream& part) { return part.state()->is_absent(); });
  }
  Str name_of(const ReadAt& at) const override { return part(at).name_of(inside(at)); }
  bool is_left_out(const ReadAt& at) const override { return part(at).is_left_out(inside(at)); }
  void check() const override {
    for (const Stream& part : parts_) part.state()->check();
  }
  int depth() const override {
    int deepest = 0;
    for (const Stream& part : parts_) deepest = std::max(deepest, part.state()->depth());
    return deepest + 1;
  }
  void plan() const override {
    for (const Stream& part : parts_) part.state()->plan();
  }
  bool read(const ReadAt& at, Record& out) const override { return part(at).read(inside(at), out); }
  bool fill(const ReadAt& at, std::byte* const* rows) const override { return part(at).fill(inside(at), rows); }

 private:
  size_t place_of(const ReadAt& at) const { return size_t(at.index % rhythm_.length()); }
  const StreamState& part(const ReadAt& at) const { return *parts_[rhythm_.pattern[place_of(at)]].state(); }
  ReadAt inside(const ReadAt& at) const {
    const size_t place = place_of(at);
    const uint32_t stream = rhythm_.pattern[place];
    ReadAt out = at;
    out.index = at.index / rhythm_.length() * rhythm_.counts[stream] + rhythm_.ranks[place];
    if (stream > 0) out.time = ltr::mix(at.time + stream);  // The same records may stand in several.
    return gone_on(out, parts_[stream], taken_[stream]);
  }
  /// Records up to the first that a part has no more.
  int64_t shortest() const {
    int64_t size = kEndless;
    for (size_t place = 0; place < rhythm_.pattern.size(); ++place) {
      const uint32_t stream = rhythm_.pattern[place];
      const int64_t records = parts_[stream].state()->size();
      if (records == kEndless) continue;
      // The round in which this place is the first that lacks its record.
      const int64_t round =
          std::max<int64_t>(0, records - rhythm_.ranks[place] + rhythm_.counts[stream] - 1) / rhythm_.counts[stream];
      size = std::min(size, round * rhythm_.length() + int64_t(place));
    }
    return size;
  }

  /// How many records of `stream` one pass takes.
  int64_t taken_of(uint32_t stream) const {
    if (size_ == kEndless) return kEndless;
    const auto rest = rhythm_.pattern.begin() + size_ % rhythm_.length();
    return size_ / rhythm_.length() * rhythm_.counts[stream] + std::count(rhythm_.pattern.begin(), rest, stream);
  }

  std::vector<Stream> parts_;
  Rhythm rhythm_;
  int64_t size_;
  std::vector<int64_t> taken_;  ///< of each stream, in one pass
};

}  // namespace

Stream mix(const std::vector<Stream>& streams, const std::vector<double>& weights) {
  if (!weights.empty() && weights.size() != streams.size()) {
    throw error_here(err::out_of_range, "mix: weights", weights.size(),
                     fmt::format("as many as streams, which are {}", streams.size()));
  }
  std::vector<double> shares = weights.empty() ? std::vector<double>(streams.size(), 1) : weights;
  for (const double share : shares) {
    const auto rule = broken_rule("data.mix.weights", share);
    if (rule || !std::isfinite(share))
      throw error_here(err::out_of_range, "mix: weights", share, rule.value_or("a number"));
  }
  const double whole = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) {
    share /= whole;
    if (share < 1e-6) throw error_here(err::out_of_range, "mix: weights", share, "a millionth of the whole at least");
  }
  for (const Stream& stream : streams) {
    if (!same_records(streams[0].state()->schema(), stream.state()->schema()))
      throw error_here(err::schema_differs, "mix", "the records of the streams differ");
  }
  return Stream(new Mix(streams, rhythm_of(shares)));
}

}  // namespace ltr
