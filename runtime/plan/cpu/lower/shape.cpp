// What moves elements without computing with them.

#include <cstring>

#include "runtime/plan/cpu/lowering.h"

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

}  // namespace

bool lower_shape(Lowering& to) {
  switch (to.node().op) {
    case Op::cat:
    case Op::stack: return cat(to);
    default: return false;
  }
}

}  // namespace ltr::plan
