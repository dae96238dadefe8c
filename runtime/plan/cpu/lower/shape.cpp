// What moves elements without computing with them.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/plan/cpu/lower/function.h"

namespace ltr::plan {

namespace {

/// Values one behind the other along an axis: for each place of the axes in front, a run of each.
class Cat : public Kernel {
 public:
  Cat(std::vector<Layout> parts, Layout out, size_t axis, int64_t element, bool by_samples)
      : parts_(std::move(parts)), out_(std::move(out)), element_(element), by_samples_(by_samples) {
    for (size_t i = 0; i < axis; ++i) outer_ *= out_.sizes[i];
    for (const Layout& part : parts_) runs_.push_back(outer_ == 0 ? 0 : part.count() / outer_ * element_);
  }

  void run(Memory memory, const Part& part) const override {
    const auto [begin, end] = by_samples_ ? part.of(outer_) : part.share(outer_);
    int64_t all = 0;
    for (const int64_t run : runs_) all += run;
    for (int64_t at = begin; at < end; ++at) {
      char* to = memory[out_.root] + at * all;
      for (size_t i = 0; i < parts_.size(); ++i) {
        std::memcpy(to, memory[parts_[i].root] + parts_[i].offset * element_ + at * runs_[i], size_t(runs_[i]));
        to += runs_[i];
      }
    }
  }
  Str text() const override { return fmt::format("[{}] cat", fmt::join(out_.sizes, ", ")); }

 private:
  std::vector<Layout> parts_;
  Layout out_;
  int64_t element_;
  bool by_samples_;
  int64_t outer_ = 1;
  std::vector<int64_t> runs_;
};

bool cat(Lowering& to) {
  const auto& list = std::get<std::vector<ValueRef>>(to.node().arguments[0]);
  const DType type = to.dtype(to.result());
  if (type != DType::F32) return false;
  const Layout out = to.layout(to.result());
  const bool is_stack = to.node().op == Op::stack;
  int64_t axis = to.node().host<int64_t>(1);
  if (axis < 0) axis += int64_t(out.sizes.size());
  std::vector<Layout> parts;
  Call call;
  bool by_samples = to.is_apart(out) && axis > 0;
  for (const ValueRef value : list) {
    if (to.dtype(value.id) != type) return false;
    if (!is_stack && to.layout(value.id).sizes.size() != out.sizes.size()) return false;
  }
  for (const ValueRef value : list) {
    parts.push_back(to.side_by_side(to.layout(value.id), type));
    by_samples = by_samples && to.is_apart(parts.back());
  }
  for (const Layout& part : parts) call.reads.push_back(to.touched(part, by_samples));
  call.writes = {to.touched(out, by_samples)};
  call.split = by_samples ? Split::Samples : Split::Shares;
  call.kernel = std::make_unique<Cat>(std::move(parts), out, size_t(axis), 4, by_samples);
  to.add(std::move(call));
  return true;
}

/// `x`, in whatever order its layout says, side by side in the result.
bool copy(Lowering& to, const Layout& x) {
  PointProgram program = Lowering::program(x.sizes);
  program.store(to.result(), DType::F32, program.load(x, DType::F32));
  to.add(std::move(program));
  return true;
}

/// Each copy is an axis of its own, along which x stretches.
bool repeat(Lowering& to) {
  if (!to.is_f32({to.argument(0)})) return false;
  const Layout& x = to.layout(to.argument(0));
  const Ints& counts = to.node().host<Ints>(1);
  const size_t fresh = counts.size() - x.sizes.size();
  Layout apart{x.root, x.offset, {}, {}};
  for (size_t i = 0; i < counts.size(); ++i) {
    apart.sizes.insert(apart.sizes.end(), {counts[i], i < fresh ? 1 : x.sizes[i - fresh]});
    apart.strides.insert(apart.strides.end(), {0, i < fresh ? 0 : x.strides[i - fresh]});
  }
  return copy(to, apart);
}

/// Channels become places: [B, C f², H, W] as [B, C, H, f, W, f].
bool pixel_shuffle(Lowering& to) {
  if (!to.is_f32({to.argument(0)})) return false;
  const Layout& x = to.layout(to.argument(0));
  const int64_t factor = to.node().host<int64_t>(1), channel = x.strides[1];
  return copy(to, {x.root,
                   x.offset,
                   {x.sizes[0], x.sizes[1] / (factor * factor), x.sizes[2], factor, x.sizes[3], factor},
                   {x.strides[0], channel * factor * factor, x.strides[2], channel * factor, x.strides[3], channel}});
}

/// Places of the last two axes on one side of a diagonal; the others are 0.
bool triangle(Lowering& to, bool is_lower) {
  if (!to.is_f32({to.argument(0)}) || to.layout(to.argument(0)).sizes.size() < 2) return false;
  const Layout x = to.side_by_side(to.layout(to.argument(0)), DType::F32), out = to.layout(to.result());
  const int64_t height = x.sizes[x.sizes.size() - 2], diagonal = to.node().host<int64_t>(1);
  const Rows rows = rows_of(to, out);
  const bool by_samples = rows.by_samples && to.is_apart(x);
  const Rows split{rows.count, rows.width, by_samples};
  call(to, split.split(), {to.touched(x, by_samples)}, {to.touched(out, by_samples)}, named(to, x),
       [=, width = rows.width](Memory memory, const Part& part) {
         const auto [begin, end] = split.of(part);
         for (int64_t r = begin; r < end; ++r) {
           const int64_t at = std::clamp<int64_t>(r % height + diagonal + (is_lower ? 1 : 0), 0, width);
           const float* const from = floats(memory, x) + r * width;
           float* const into = floats(memory, out) + r * width;
           for (int64_t i = 0; i < width; ++i) into[i] = (i < at) == is_lower ? from[i] : 0;
         }
       });
  return true;
}

/// x with what is added to a diagonal of two of its axes.
bool diagonal_add(Lowering& to) {
  const Node& node = to.node();
  if (!to.is_f32({to.argument(0), to.argument(1)})) return false;
  const Layout& given = to.layout(to.argument(0));
  const Layout x = to.side_by_side(given, DType::F32), out = dense(to.result(), given.sizes);
  const Layout source = to.side_by_side(to.layout(to.argument(1)), DType::F32);
  const Layout into = diagonal_of(out, node.host<int64_t>(2), node.host<int64_t>(3), node.host<int64_t>(4));
  call(to, Split::Alone, {{x.root, false}, {source.root, false}}, {{out.root, false}}, named(to, x),
       [=](Memory memory, const Part&) {
         std::copy_n(floats(memory, x), x.count(), floats(memory, out));
         const float* from = floats(memory, source);
         for (int64_t i = 0; i < into.count(); ++i) {
           int64_t at = 0, rest = i;
           for (size_t axis = into.sizes.size(); axis-- > 0; rest /= into.sizes[axis])
             at += rest % into.sizes[axis] * into.strides[axis];
           floats(memory, into)[at] += from[i];
         }
       });
  return true;
}

/// What is the same in every run.
bool constant(Lowering& to, std::vector<float> numbers) {
  const Layout out = to.layout(to.result());
  if (!to.is_f32({to.result()})) return false;
  call(to, Split::Alone, {}, {{out.root, false}}, named(to, out),
       [=, numbers = std::move(numbers)](Memory memory, const Part&) {
         std::copy(numbers.begin(), numbers.end(), floats(memory, out));
       });
  return true;
}

bool eye(Lowering& to) {
  const int64_t size = to.node().host<int64_t>(0);
  std::vector<float> numbers(size_t(size * size), 0);
  for (int64_t i = 0; i < size; ++i) numbers[size_t(i * size + i)] = 1;
  return constant(to, std::move(numbers));
}

/// From both ends to the middle, as LibTorch goes.
bool linspace(Lowering& to) {
  const auto start = float(to.node().host<double>(0)), end = float(to.node().host<double>(1));
  const int64_t count = to.node().host<int64_t>(2);
  const float step = count > 1 ? (end - start) / float(count - 1) : 0;
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(i < count / 2 || count == 1 ? start + step * float(i) : end - step * float(count - i - 1));
  return constant(to, std::move(numbers));
}

/// Press et al. 2022: a slope for each head, by the distance of two places.
bool alibi(Lowering& to) {
  const int64_t heads = to.node().host<int64_t>(0), size = to.node().host<int64_t>(1);
  std::vector<float> numbers;
  for (int64_t head = 1; head <= heads; ++head) {
    const double slope = std::pow(2.0, double(head) * (-8.0 / double(heads)));
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < size; ++j) numbers.push_back(float(-slope * double(std::abs(i - j))));
    }
  }
  return constant(to, std::move(numbers));
}

}  // namespace

bool lower_shape(Lowering& to) {
  switch (to.node().op) {
    case Op::cat:
    case Op::stack: return cat(to);
    case Op::repeat: return repeat(to);
    case Op::pixel_shuffle: return pixel_shuffle(to);
    case Op::tril: return triangle(to, true);
    case Op::triu: return triangle(to, false);
    case Op::diagonal_add: return diagonal_add(to);
    case Op::eye: return eye(to);
    case Op::linspace: return linspace(to);
    case Op::alibi: return alibi(to);
    default: return false;
  }
}

}  // namespace ltr::plan
