// `--mock-data`: streams that open nothing.

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include <ATen/ops/empty.h>

#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

constexpr int64_t kMockRecords = 4096;
/// Stands for a dim that differs between batches, besides the batch dim.
constexpr int64_t kMockDim = 8;

/// Numbers in [0, 1), which are also targets of `bce`, rates, and class 0 where a step rounds them to whole numbers. In
/// pieces of a table that is drawn once: to draw each anew takes longer than many a step.
class MockNumbers {
 public:
  explicit MockNumbers(uint64_t seed) {
    seed_random(random_key(seed, "mock", {}));
    table_ = fill_uniform(at::empty({kTable}, at::kFloat), 0, 1);
  }

  void fill(float* out, int64_t count, uint64_t key) const {
    const auto* table = table_.const_data_ptr<float>();
    for (int64_t done = 0; done < count; done += kPiece) {
      key = key * 6364136223846793005u + 1442695040888963407u;  // Knuth's linear congruential generator
      std::copy_n(table + (key >> 33) % (kTable - kPiece), std::min(kPiece, count - done), out + done);
    }
  }

 private:
  static constexpr int64_t kTable = 65536;
  static constexpr int64_t kPiece = 256;
  at::Tensor table_;
};

class MockSource : public Source {
 public:
  using Source::Source;
  int64_t size() const override { return kMockRecords; }
  int64_t vocab() const override { return 64; }
  Str name_of(const ReadAt& at) const override { return fmt::format("mock record {}", at.index); }
  bool read(const ReadAt&, Record&) const override {
    throw Error(err::bad_record.code, "mock data has batches, but no records");
  }
};

class MockBatches : public Stage {
 public:
  MockBatches(const Stream& inner, Schema batch) : Stage(std::move(batch), inner) {}
  /// Mock sources may be too short for a batch of this size; there is one all the same.
  int64_t size() const override { return std::max(inner().size(), int64_t(1)); }
  int64_t batch_samples(int64_t index) const override {
    return inner().size() == 0 ? batch_size() : inner().batch_samples(index);
  }
  Origin origin(const ReadAt& at) const override { return {this, at}; }
  const StreamState* root() const override { return this; }
  bool is_fixed() const override { return true; }
  bool is_pure() const override { return true; }
  void plan() const override {}
  Str name_of(const ReadAt& at) const override { return fmt::format("mock batch {}", at.index); }

  bool read(const ReadAt& at, Record& out) const override {
    const MockNumbers& numbers = this->numbers(at.seed);
    seed_random(random_key(at.seed, "mock", {uint64_t(at.epoch), uint64_t(at.index)}));
    out.resize(schema_.size());
    for (size_t i = 0; i < schema_.size(); ++i) {
      std::vector<int64_t> sizes = schema_[i].dims;
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        if (sizes[axis] < 0) sizes[axis] = axis == 0 ? batch_samples(at.index) : kMockDim;
      }
      at::Tensor tensor = at::empty(sizes, at::TensorOptions().dtype(field_type(schema_[i])));
      if (tensor.scalar_type() == at::kFloat)
        numbers.fill(tensor.mutable_data_ptr<float>(), tensor.numel(),
                     random_key(at.seed, "mock", {uint64_t(at.epoch), uint64_t(at.index), i}));
      else if (tensor.is_floating_point())
        tensor = fill_uniform(std::move(tensor), 0, 1);
      else if (are_lengths(schema_[i].name))
        tensor = fill_whole(std::move(tensor), 1, kMockDim + 1);
      else
        tensor = fill_kept(std::move(tensor), 0.5, 1);
      out[i].tensor = give(std::move(tensor));
    }
    return true;
  }

 private:
  const MockNumbers& numbers(uint64_t seed) const {
    std::call_once(is_drawn_, [&] { numbers_.emplace(seed); });
    return *numbers_;
  }

  /// Lengths of 0 would be averages of nothing.
  bool are_lengths(const char* name) const {
    return std::ranges::any_of(inner().schema(), [&](const FieldInfo& field) {
      return field.form == FieldForm::Lengths && std::strcmp(field.name, name) == 0;
    });
  }

  mutable std::once_flag is_drawn_;
  mutable std::optional<MockNumbers> numbers_;
};

}  // namespace

Stream mock_source(Schema schema) { return Stream(new MockSource(std::move(schema))); }

Stream mock_batches(const Stream& stream, const Schema& batch) { return Stream(new MockBatches(stream, batch)); }

}  // namespace ltr
