// `pack`: the ids of all records one behind the other, in windows of one size.

#include <algorithm>
#include <cstring>
#include <mutex>

#include <ATen/ops/empty.h>

#include "doors/memory.h"
#include "ltr/streams.h"
#include "runtime/api/error.h"
#include "runtime/data/sources/columns.h"
#include "runtime/data/stages/pack.h"
#include "runtime/data/stream.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Of the memory of the machine, what the ids of a stream may take. Those of a larger one are read again for each window.
constexpr int64_t kShareForIds = 8;

class Pack : public Stage {
 public:
  Pack(const Stream& inner, int64_t n, int64_t end, int64_t limit)
      : Stage({{"tokens", DType::I64, {n}, ""}}, inner), n_(n), end_(end), limit_(limit) {}

  // How many windows there are turns out when all records were looked at.
  int64_t size() const override {
    if (is_mock_data() || is_absent()) return inner().size();
    look();
    return begins_.back() / n_;
  }
  Origin origin(const ReadAt& at) const override { return {this, at}; }
  const StreamState* root() const override { return this; }
  bool is_pure() const override { return is_fixed(); }
  bool is_left_out(const ReadAt&) const override { return false; }
  Stream rebuilt(const Stream& source) const override { return StreamState::rebuilt(source); }
  Str name_of(const ReadAt& at) const override {
    look();
    ReadAt first = at;
    first.index = record_at(at.index * n_);
    return fmt::format("{} tokens from {}", n_, inner().name_of(first));
  }
  std::vector<Str> names_of(const ReadAt& at) const override { return {name_of(at)}; }
  // Nobody reads the records again where their ids are kept.
  void plan() const override {
    look();
    if (!are_kept_) inner().plan();
  }

  bool fill(const ReadAt& at, std::byte* const* rows) const override {
    write(at, reinterpret_cast<int64_t*>(rows[0]));
    return true;
  }

  bool read(const ReadAt& at, Record& out) const override {
    at::Tensor tokens = at::empty({n_}, at::TensorOptions().dtype(at::kLong));
    write(at, tokens.mutable_data_ptr<int64_t>());
    out.resize(1);
    out[0].tensor = give(std::move(tokens));
    return true;
  }

 private:
  /// Reads each record once: how many ids it has, and which, as far as they may be kept.
  void look() const {
    std::call_once(looked_, [&] {
      const DeviceScope on_host(c10::kCPU);
      begins_ = {0};
      ids_ = NarrowInts();
      are_kept_ = true;
      for (int64_t i = 0; i < inner().size(); ++i) {
        const at::Tensor ids = ids_of({.index = i});
        begins_.push_back(begins_.back() + (ids.defined() ? ids.numel() + 1 : 0));
        if (!are_kept_ || !ids.defined()) continue;
        const auto* values = ids.const_data_ptr<int64_t>();
        for (int64_t k = 0; k < ids.numel(); ++k) ids_.push(values[k]);
        ids_.push(end_);
        are_kept_ = int64_t(ids_.bytes()) <= limit_;
        if (!are_kept_) ids_ = NarrowInts();
      }
    });
  }

  /// Undefined for a record that is left out.
  at::Tensor ids_of(const ReadAt& at) const {
    Record record;
    if (!inner().read(at, record)) return {};
    return aten(record[0].tensor).to(at::kLong).contiguous();
  }

  /// The record whose ids, or `end`, stand at `position`.
  int64_t record_at(int64_t position) const {
    return std::upper_bound(begins_.begin(), begins_.end(), position) - begins_.begin() - 1;
  }

  void write(const ReadAt& at, int64_t* out) const {
    look();
    const int64_t first = at.index * n_;
    if (are_kept_) {
      for (int64_t i = 0; i < n_; ++i) out[i] = ids_[size_t(first + i)];
      return;
    }
    ReadAt one = at;
    one.index = record_at(first);
    for (int64_t position = first; position < first + n_; ++one.index) {
      const auto record = size_t(one.index);
      if (begins_[record + 1] == begins_[record]) continue;
      const at::Tensor ids = ids_of(one);
      if (!ids.defined() || ids.numel() + 1 != begins_[record + 1] - begins_[record])
        throw error_at(location(), err::bad_record, inner().name_of(one),
                       "it has another length than when it was read first");
      const int64_t from = position - begins_[record];
      const int64_t count = std::min(ids.numel() - from, first + n_ - position);
      std::copy_n(ids.const_data_ptr<int64_t>() + from, count, out + (position - first));
      position += count;
      if (position < first + n_) out[position++ - first] = end_;
    }
  }

  int64_t n_;
  int64_t end_;
  int64_t limit_;
  mutable std::once_flag looked_;
  mutable std::vector<int64_t> begins_;  ///< where the ids of each record begin among all, and where the last end
  mutable NarrowInts ids_;               ///< all of them, each record's with its `end`
  mutable bool are_kept_ = false;
};

}  // namespace

Stream pack_within(const Stream& stream, int64_t n, int64_t end, int64_t limit_bytes) {
  need_end(stream, "pack");
  if (n < 1) throw error_here(err::out_of_range, "pack: n", n, "n >= 1");
  if (end < 0) throw error_here(err::out_of_range, "pack: end", end, "end >= 0");
  if (!stream.state()->is_fixed())
    throw with_help(error_here(err::settings_contradict, "pack joins records that have another order in each epoch"),
                    "put `shuffle`, and maps that draw random numbers, behind it");
  return Stream(new Pack(stream, n, end, limit_bytes));
}

Stream pack(const Stream& stream, int64_t n, int64_t end) {
  return pack_within(stream, n, end, doors::own_memory() / kShareForIds);
}

}  // namespace ltr
