// `split`: parts of a stream, by counts or shares, in file order, at random, or stratified by a field.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/permutation.h"
#include "runtime/data/stages/strata.h"
#include "runtime/data/stages/subset.h"
#include "runtime/tables/ranges.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

void need_part(double part) {
  if (const auto rule = broken_rule("data.split.parts", part))
    throw error_here(err::out_of_range, "split: a part", part, *rule);
}

/// Records `first ..` of the permuted order; without a seed the order is that of the file.
class Part : public IndexStage {
 public:
  Part(const Stream& inner, int64_t first, int64_t count, bool is_random, uint64_t key)
      : IndexStage(inner),
        first_(first),
        count_(count),
        is_random_(is_random),
        permutation_(this->inner().size(), key) {}

  int64_t size() const override { return count_; }

  ReadAt move(const ReadAt& at) const override {
    ReadAt out = at;
    out.index = is_random_ ? permutation_(first_ + at.index) : first_ + at.index;
    return out;
  }

 private:
  int64_t first_;
  int64_t count_;
  bool is_random_;
  Permutation permutation_;
};

/// Whole numbers in proportion to `shares` of `n`: rounded down, what is left goes to the largest
/// remainders, the first of equal ones. Shares that sum to less than 1 leave a rest.
std::vector<int64_t> apportion(int64_t n, const Floats& shares) {
  std::vector<int64_t> counts;
  std::vector<std::pair<double, size_t>> remainders;
  for (const double share : shares) {
    // 0.1 * 30 must count as 3, not as 2.9999999999999996.
    const double exact = std::round(double(n) * share * 1e9) / 1e9;
    counts.push_back(int64_t(std::floor(exact)));
    remainders.emplace_back(exact - std::floor(exact), remainders.size());
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  int64_t rest =
      int64_t(std::llround(std::min(sum, 1.0) * double(n))) - std::accumulate(counts.begin(), counts.end(), int64_t(0));
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& left, const auto& right) { return left.first > right.first; });
  for (size_t i = 0; rest > 0 && i < remainders.size(); ++i, --rest) ++counts[remainders[i].second];
  return counts;
}

std::vector<Stream> split_in_order(const Stream& stream, const std::vector<int64_t>& counts,
                                   const Option<int64_t>& seed) {
  const auto depth = uint64_t(stream.state()->depth());
  const uint64_t key = random_key(uint64_t(seed.value_or(0)), "split", {depth});
  std::vector<Stream> parts;
  int64_t first = 0;
  for (const int64_t count : counts) {
    parts.emplace_back(new Part(stream, first, count, seed.has_value(), key));
    first += count;
  }
  return parts;
}

/// `k` parts that differ by one record at most, and so do those of each value in them: all are dealt one after the other.
std::vector<Stream> deal_by(const Stream& stream, int64_t k, const Option<int64_t>& seed, const Str& by) {
  const auto depth = uint64_t(stream.state()->depth());
  std::vector<std::vector<int64_t>> parts;
  parts.resize(size_t(k));
  uint64_t stratum = 0;
  size_t next = 0;
  for (const auto& [value, indices] : strata(stream, by, "folds")) {
    const auto n = int64_t(indices.size());
    const Permutation permutation(n, random_key(uint64_t(seed.value_or(0)), "folds", {depth, stratum++}));
    for (int64_t i = 0; i < n; ++i, ++next)
      parts[next % size_t(k)].push_back(indices[size_t(seed.has_value() ? permutation(i) : i)]);
  }
  std::vector<Stream> streams;
  for (std::vector<int64_t>& indices : parts) {
    std::sort(indices.begin(), indices.end());
    streams.emplace_back(new Subset(stream, std::move(indices)));
  }
  return streams;
}

int64_t count_of(const std::map<Str, std::vector<int64_t>>& classes) {
  int64_t count = 0;
  for (const auto& [value, indices] : classes) count += int64_t(indices.size());
  return count;
}

/// How many of each class a part of `wanted` records takes, whose classes have `left` more: in proportion, rounded down, and one more of
/// those with the largest remainders, in an order that `key` gives equal ones.
std::vector<int64_t> take_of_each(const std::vector<int64_t>& left, int64_t wanted, uint64_t key) {
  if (wanted == 0) return std::vector<int64_t>(left.size());  // There may be nothing left to take a part of.
  const int64_t all = std::accumulate(left.begin(), left.end(), int64_t(0));
  std::vector<int64_t> taken;
  std::vector<std::tuple<int64_t, uint64_t, size_t>> remainders;
  int64_t rest = wanted;
  for (size_t i = 0; i < left.size(); ++i) {
    const auto [whole, remainder] = std::pair(__int128(wanted) * left[i] / all, __int128(wanted) * left[i] % all);
    taken.push_back(int64_t(whole));
    rest -= int64_t(whole);
    if (remainder > 0) remainders.emplace_back(-int64_t(remainder), mix(key + i), i);
  }
  std::sort(remainders.begin(), remainders.end());
  for (int64_t i = 0; i < rest; ++i) ++taken[std::get<2>(remainders[size_t(i)])];
  return taken;
}

/// Parts of `counts` records, with the classes of the stream in proportion.
std::vector<Stream> split_by(const Stream& stream, const std::map<Str, std::vector<int64_t>>& classes,
                             const std::vector<int64_t>& counts, const Option<int64_t>& seed) {
  const auto depth = uint64_t(stream.state()->depth());
  std::vector<int64_t> left;
  for (const auto& [value, indices] : classes) left.push_back(int64_t(indices.size()));
  std::vector<std::vector<int64_t>> taken;
  for (size_t part = 0; part < counts.size(); ++part) {
    taken.push_back(take_of_each(left, counts[part], random_key(uint64_t(seed.value_or(0)), "split rest", {part})));
    for (size_t i = 0; i < left.size(); ++i) left[i] -= taken[part][i];
  }
  std::vector<std::vector<int64_t>> parts(counts.size());
  uint64_t stratum = 0;
  for (const auto& [value, indices] : classes) {
    const auto n = int64_t(indices.size());
    const Permutation permutation(n, random_key(uint64_t(seed.value_or(0)), "split", {depth, stratum}));
    int64_t position = 0;
    const size_t at = stratum++;
    for (size_t part = 0; part < counts.size(); ++part) {
      for (int64_t i = 0; i < taken[part][at]; ++i, ++position) {
        const int64_t chosen = seed.has_value() ? permutation(position) : position;
        parts[part].push_back(indices[size_t(chosen)]);
      }
    }
  }
  std::vector<Stream> streams;
  for (std::vector<int64_t>& indices : parts) {
    std::sort(indices.begin(), indices.end());
    streams.emplace_back(new Subset(stream, std::move(indices)));
  }
  return streams;
}

}  // namespace

std::vector<Stream> folds(const Stream& stream, int64_t k, int64_t fold, const Option<int64_t>& seed,
                          const Option<Str>& by) {
  if (k < 2) throw error_here(err::out_of_range, "folds: k", k, "k >= 2");
  if (fold < 0 || fold >= k)
    throw error_here(err::out_of_range, "folds: fold", fold, fmt::format("fold in 0 .. {}", k));
  need_end(stream, "folds");
  const int64_t size = stream.state()->size();
  if (size < k && !is_mock_data() && !stream.state()->is_absent())
    throw error_here(err::stream_too_short, fmt::format("{} folds of {} records", k, size));
  const Floats shares(size_t(k), 1.0 / double(k));
  const std::vector<Stream> parts =
      by.has_value() ? deal_by(stream, k, seed, *by) : split_in_order(stream, apportion(size, shares), seed);
  // The rest stands in the order of the file.
  std::vector<int64_t> rest;
  for (int64_t other = 0; other < k; ++other) {
    if (other == fold) continue;
    const auto* part = static_cast<const IndexStage*>(parts[size_t(other)].state());
    for (int64_t i = 0; i < part->size(); ++i) rest.push_back(part->move({0, i}).index);
  }
  std::sort(rest.begin(), rest.end());
  return {Stream(new Subset(stream, std::move(rest))), parts[size_t(fold)]};
}

std::vector<Stream> split(const Stream& stream, const Ints& counts, const Option<int64_t>& seed,
                          const Option<Str>& by) {
  need_end(stream, "split");
  const int64_t size = stream.state()->size();
  int64_t sum = 0;
  for (const int64_t count : counts) {
    need_part(double(count));
    sum += count;
  }
  std::vector<int64_t> sizes = counts;
  if (is_mock_data() || stream.state()->is_absent()) {
    Floats shares;
    for (const int64_t count : counts)
      shares.push_back(double(count) / double(std::max({sum, is_mock_data() ? sum : size, int64_t(1)})));
    sizes = apportion(size, shares);
  } else if (sum > size) {
    throw error_here(err::stream_too_short, fmt::format("split wants {} records, the stream has {}", sum, size));
  }
  if (!by) return split_in_order(stream, sizes, seed);
  const std::map<Str, std::vector<int64_t>> classes = strata(stream, *by, "split");
  if (const int64_t there = count_of(classes); sum > there && sizes == counts)
    throw error_here(err::stream_too_short,
                     fmt::format("split wants {} records, the stream has {} that can be read", sum, there));
  return split_by(stream, classes, sizes, seed);
}

std::vector<Stream> split(const Stream& stream, const Floats& shares, const Option<int64_t>& seed,
                          const Option<Str>& by) {
  need_end(stream, "split");
  double sum = 0;
  for (const double share : shares) {
    need_part(share);
    sum += share;
  }
  if (sum > 1 + 1e-9) throw error_here(err::out_of_range, "split: the sum of shares", sum, "sum <= 1");
  if (by) {
    const std::map<Str, std::vector<int64_t>> classes = strata(stream, *by, "split");
    return split_by(stream, classes, apportion(count_of(classes), shares), seed);
  }
  return split_in_order(stream, apportion(stream.state()->size(), shares), seed);
}

}  // namespace ltr
