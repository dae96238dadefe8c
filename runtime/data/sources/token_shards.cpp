// `token_shards`: windows of token ids from files that are mapped into memory.

#include <algorithm>

#include "doors/token_file.h"
#include "ltr/streams.h"
#include "runtime/data/known.h"
#include "runtime/data/paths.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/records.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

class TokenShards : public Source {
 public:
  TokenShards(const Str& pattern, const std::vector<Str>& files, int64_t window, int64_t stride)
      : Source(token_shards_record(window)), window_(window), stride_(stride) {
    for (const Str& path : files) {
      note_opened(path);
      doors::TokenFile tokens = reading(path, [&] { return doors::TokenFile(path); });
      const auto count = int64_t(tokens.count());
      // A window ends with its file: the next one is another text.
      note_records(path, count);
      size_ += count < window_ ? 0 : (count - window_) / stride_ + 1;
      shards_.push_back({path, std::move(tokens), size_});
      if (count == 0) throw error_here(err::stream_too_short, fmt::format("{} is empty", path));
    }
    if (size_ == 0)
      throw error_here(err::stream_too_short,
                       fmt::format("{}: no file has {} ids, which a window is", pattern, window_));
  }

  int64_t size() const override { return size_; }

  Str name_of(const ReadAt& at) const override {
    const auto [shard, begin] = find(at.index);
    return fmt::format("{} token {}", shard->path, begin);
  }

  bool read(const ReadAt& at, Record& out) const override {
    out.resize(1);
    const at::Tensor tokens = at::empty({window_}, at::TensorOptions().dtype(at::kInt));
    copy(at.index, tokens.mutable_data_ptr<int32_t>());
    out[0].tensor = give(tokens);
    return true;
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    copy(at.index, reinterpret_cast<int32_t*>(rows[0]));
    return true;
  }

 private:
  struct Shard {
    Str path;
    doors::TokenFile tokens;
    int64_t end;  ///< windows up to and with this one
  };

  /// The shard of a window, and its first token there.
  std::pair<const Shard*, int64_t> find(int64_t index) const {
    const auto shard = std::upper_bound(shards_.begin(), shards_.end(), index,
                                        [](int64_t i, const Shard& candidate) { return i < candidate.end; });
    const int64_t before = shard == shards_.begin() ? 0 : std::prev(shard)->end;
    return {&*shard, (index - before) * stride_};
  }

  void copy(int64_t index, int32_t* out) const {
    const auto [shard, begin] = find(index);
    try {
      shard->tokens.copy(uint64_t(begin), uint64_t(window_), out);
    } catch (const doors::FormatError& error) {
      throw error_here(err::schema_differs, shard->path, error.placed());
    }
    const int32_t* const wrong = std::find_if(out, out + window_, [](int32_t id) { return id < 0; });
    if (wrong == out + window_) return;
    throw error_here(err::bad_record, fmt::format("{} token {}", shard->path, begin + (wrong - out)),
                     fmt::format("the id is {}, and ids end at {}", uint32_t(*wrong), INT32_MAX));
  }

  std::vector<Shard> shards_;
  int64_t window_;
  int64_t stride_;
  int64_t size_ = 0;
};

}  // namespace

Stream token_shards(const Str& glob, int64_t window, int64_t stride) {
  if (window < 1) throw error_here(err::out_of_range, "token_shards: window", window, "window >= 1");
  if (stride < 1) throw error_here(err::out_of_range, "token_shards: stride", stride, "stride >= 1");
  return open_source(token_shards_record(window),
                     [&] { return Stream(new TokenShards(glob, find_files(glob), window, stride)); });
}

}  // namespace ltr
