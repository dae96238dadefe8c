// Stages that renumber by arithmetic: shuffle, take, skip, shard, repeat.

#include <algorithm>

#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/permutation.h"
#include "runtime/data/stages/subset.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

class Shuffle : public IndexStage {
 public:
  /// `block` neighbours stay together; 0: none do.
  Shuffle(const Stream& inner, int64_t seed, int64_t block)
      : IndexStage(inner), seed_(uint64_t(seed)), block_(block > 0 ? std::min(block, this->inner().size()) : 0) {}

  bool is_fixed() const override { return false; }

  ReadAt move(const ReadAt& at) const override {
    if (at.ordered) return at;
    const uint64_t key = random_key(seed_, "shuffle", {uint64_t(depth()), uint64_t(at.epoch)});
    ReadAt out = at;
    out.index = block_ == 0 ? Permutation(size(), key)(at.index) : in_blocks(at.index, key);
    return out;
  }

 private:
  /// Whole blocks in another order, the short one at the end of the stream somewhere between them, and the records of each
  /// in an order of its own.
  int64_t in_blocks(int64_t index, uint64_t key) const {
    const int64_t whole = size() / block_;
    const int64_t rest = size() % block_;
    const int64_t before = int64_t(mix(key) % uint64_t(whole + 1)) * block_;  // Records in front of the short block.
    int64_t place = index;
    if (rest > 0 && index >= before) {
      if (index < before + rest) return whole * block_ + Permutation(rest, key)(index - before);
      place -= rest;
    }
    const int64_t block = Permutation(whole, key)(place / block_);
    return block * block_ + Permutation(block_, mix(key + uint64_t(block) + 1))(place % block_);
  }

  uint64_t seed_;
  int64_t block_;
};

/// Shuffles a stream without end: permutes aligned blocks of half of `buffer` neighbours each, twice, the second time half a block
/// later, so that records leave their blocks. One comes less than `buffer` places from its own.
class EndlessShuffle : public IndexStage {
 public:
  EndlessShuffle(const Stream& inner, int64_t seed, int64_t buffer)
      : IndexStage(inner), seed_(uint64_t(seed)), block_(std::max(buffer / 2, int64_t(1))) {}

  int64_t size() const override { return kEndless; }
  bool is_fixed() const override { return false; }

  ReadAt move(const ReadAt& at) const override {
    if (at.ordered) return at;
    ReadAt out = at;
    const int64_t later = block_ / 2;
    const int64_t once = at.index < later ? at.index : later + moved(at.index - later, 1, at.epoch);
    out.index = moved(once, 0, at.epoch);
    return out;
  }

 private:
  int64_t moved(int64_t index, uint64_t pass, int64_t epoch) const {
    const int64_t block = index / block_;
    const uint64_t key = random_key(seed_, "shuffle", {uint64_t(depth()), uint64_t(epoch), pass, uint64_t(block)});
    return block * block_ + Permutation(block_, key)(index % block_);
  }

  uint64_t seed_;
  int64_t block_;
};

/// Every `step`-th record from `first` on, `count` of them.
class Slice : public IndexStage {
 public:
  Slice(const Stream& inner, int64_t first, int64_t step, int64_t count)
      : IndexStage(inner), first_(first), step_(step), count_(count) {}

  int64_t size() const override { return count_; }

  ReadAt move(const ReadAt& at) const override {
    ReadAt out = at;
    out.index = first_ + at.index * step_;
    return out;
  }

 private:
  int64_t first_;
  int64_t step_;
  int64_t count_;
};

/// `passes` of 0 is endless; then the epoch does not count, and the index goes on over epochs.
class Repeat : public IndexStage {
 public:
  Repeat(const Stream& inner, int64_t passes) : IndexStage(inner), length_(this->inner().size()), passes_(passes) {}

  int64_t size() const override { return passes_ == 0 ? kEndless : length_ * passes_; }

  ReadAt move(const ReadAt& at) const override {
    ReadAt out = at;
    out.epoch = at.epoch * passes_ + at.index / length_;
    out.index = at.index % length_;
    return out;
  }

 private:
  int64_t length_;
  int64_t passes_;
};

class Prefetch : public IndexStage {
 public:
  Prefetch(const Stream& inner, int64_t n) : IndexStage(inner), n_(n) {}
  ReadAt move(const ReadAt& at) const override { return at; }
  int64_t prefetch() const override { return n_; }

 private:
  int64_t n_;
};

class FirstBatches : public IndexStage {
 public:
  FirstBatches(const Stream& inner, int64_t n) : IndexStage(inner), n_(std::min(n, this->inner().size())) {}
  int64_t size() const override { return n_; }
  ReadAt move(const ReadAt& at) const override {
    ReadAt out = at;
    out.epoch = 0;
    out.ordered = true;
    return out;
  }

 private:
  int64_t n_;
};

[[noreturn]] void refuse(const char* stage, const char* argument, int64_t value, const char* rule) {
  throw error_here(err::out_of_range, fmt::format("{}: {}", stage, argument), value, rule);
}

}  // namespace

Subset::Subset(const Stream& inner, std::vector<int64_t> indices) : IndexStage(inner), indices_(std::move(indices)) {}

Stream shuffle(const Stream& stream, int64_t seed, const Option<int64_t>& buffer) {
  if (buffer && *buffer < 1) refuse("shuffle", "buffer", *buffer, "buffer >= 1");
  if (buffer && stream.state()->size() == kEndless) return Stream(new EndlessShuffle(stream, seed, *buffer));
  need_end(stream, "shuffle");
  return Stream(new Shuffle(stream, seed, buffer.value_or(0)));
}

Stream take(const Stream& stream, int64_t n) {
  if (n < 0) refuse("take", "n", n, "n >= 0");
  return Stream(new Slice(stream, 0, 1, std::min(n, stream.state()->size())));
}

Stream skip(const Stream& stream, int64_t n) {
  if (n < 0) refuse("skip", "n", n, "n >= 0");
  const int64_t size = stream.state()->size();
  return Stream(new Slice(stream, n, 1, size == kEndless ? kEndless : std::max(size - n, int64_t(0))));
}

Stream shard(const Stream& stream, int64_t index, int64_t count) {
  if (count < 1) refuse("shard", "count", count, "count >= 1");
  if (index < 0 || index >= count) refuse("shard", "index", index, "index in 0 .. count");
  need_end(stream, "shard");
  const int64_t size = stream.state()->size();
  return Stream(new Slice(stream, index, count, (size - index + count - 1) / count));
}

Stream repeat(const Stream& stream, const Option<int64_t>& n) {
  if (n.has_value() && *n < 1) refuse("repeat", "n", *n, "n >= 1");
  need_end(stream, "repeat");
  if (stream.state()->size() == 0 && !stream.state()->is_absent())
    throw error_here(err::stream_too_short, "repeat of an empty stream");
  return Stream(new Repeat(stream, n.value_or(0)));
}

Stream first_batches(const Stream& stream, int64_t n) { return Stream(new FirstBatches(stream, n)); }

Stream prefetch(const Stream& stream, int64_t n) {
  if (n < 0) refuse("prefetch", "n", n, "n >= 0");
  return Stream(new Prefetch(stream, n));
}

}  // namespace ltr
