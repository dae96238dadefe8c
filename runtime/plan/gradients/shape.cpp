// Gradients of functions that move elements: each moves them back.

#include <algorithm>
#include <numeric>

#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

Term zeros(Step& s, const Ints& sizes) { return zeros_as(s.in(0), sizes); }

void reshaped(Step& s) { s.give(0, s.gradient().call(Op::reshape, s.in(0).sizes())); }

void permute(Step& s) {
  const Ints& axes = s.host<Ints>(1);
  Ints back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    back[size_t(axes[i] < 0 ? axes[i] + int64_t(axes.size()) : axes[i])] = int64_t(i);
  s.give(0, s.gradient().call(Op::permute, back));
}
void transpose(Step& s) { s.give(0, s.gradient().call(Op::transpose, s.host<int64_t>(1), s.host<int64_t>(2))); }
void expand(Step& s) { s.give_summed(0, s.gradient()); }

void cat(Step& s) {
  const auto& parts = std::get<std::vector<ValueRef>>(s.node().arguments[0]);
  const int64_t dim = s.host<int64_t>(1);
  Ints sizes;
  for (const ValueRef part : parts) sizes.push_back(Term(s.builder(), part.id).size(dim));
  const std::vector<ValueId> pieces =
      s.builder().call(Op::split, s.gradient().dtype(), parts.size(), {ValueRef{s.gradient().id()}, sizes, dim});
  std::vector<Term> gradients;
  for (const ValueId piece : pieces) gradients.emplace_back(s.builder(), piece);
  s.give(0, gradients);
}
void stack(Step& s) {
  const size_t count = std::get<std::vector<ValueRef>>(s.node().arguments[0]).size();
  std::vector<Term> gradients;
  for (size_t i = 0; i < count; ++i) gradients.push_back(s.gradient().call(Op::select, s.host<int64_t>(1), int64_t(i)));
  s.give(0, gradients);
}
/// Of `chunk` and `split`: what of it no loss hangs on is 0.
void parts(Step& s) {
  std::vector<ValueRef> gradients;
  for (size_t i = 0; i < s.node().results.size(); ++i) {
    const Term part = s.gradient(i);
    gradients.push_back({part.is_defined() ? part.id() : zeros(s, s.out(i).sizes()).id()});
  }
  s.give(0, {s.builder(), s.builder().call(Op::cat, s.in(0).dtype(), {gradients, s.host<int64_t>(2)})});
}

void flip(Step& s) { s.give(0, s.gradient().call(Op::flip, s.host<Ints>(1))); }
void roll(Step& s) { s.give(0, s.gradient().call(Op::roll, -s.host<int64_t>(1), s.host<int64_t>(2))); }
/// Each copy is an axis of its own, over which is summed.
void repeat(Step& s) {
  const Ints& counts = s.host<Ints>(1);
  const Ints& sizes = s.in(0).sizes();
  const size_t fresh = counts.size() - sizes.size();
  Ints apart, once;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t size = i < fresh ? 1 : sizes[i - fresh];
    apart.insert(apart.end(), {counts[i], size});
    once.insert(once.end(), {1, size});
  }
  s.give(0, s.gradient().call(Op::reshape, apart).call(Op::sum_to, once).call(Op::reshape, sizes));
}
void tril(Step& s) { s.give(0, s.gradient().call(Op::tril, s.host<int64_t>(1))); }
void triu(Step& s) { s.give(0, s.gradient().call(Op::triu, s.host<int64_t>(1))); }
void diagonal(Step& s) {
  s.give(0, zeros(s, s.in(0).sizes())
                .call(Op::diagonal_add, s.gradient(), s.host<int64_t>(1), s.host<int64_t>(2), s.host<int64_t>(3)));
}
void pad(Step& s) { s.give(0, s.gradient().call(Op::pad_backward, s.in(0), s.host<Ints>(1), s.host<Str>(2))); }
void interpolate(Step& s) {
  s.give(0, s.gradient().call(Op::interpolate_backward, s.in(0).sizes(), s.host<Str>(3), s.host<bool>(4)));
}
void pixel_shuffle(Step& s) {
  const Ints& sizes = s.in(0).sizes();
  const int64_t factor = s.host<int64_t>(1), channels = sizes[1] / (factor * factor);
  const Ints apart{sizes[0], channels, sizes[2], factor, sizes[3], factor};
  s.give(0, s.gradient().call(Op::reshape, apart).call(Op::permute, Ints{0, 1, 3, 5, 2, 4}).call(Op::reshape, sizes));
}

void gather(Step& s) {
  s.give(0, zeros(s, s.in(0).sizes()).call(Op::scatter_add, s.host<int64_t>(1), s.in(2), s.gradient()));
}
void scatter(Step& s) {
  const Term index = s.in(2);
  if (s.wants(0)) {
    const Term nothing = zeros(s, Ints(s.in(3).sizes().size(), 1)).call(Op::expand, s.in(3).sizes());
    s.give(0, s.gradient().call(Op::scatter, s.host<int64_t>(1), index, nothing));
  }
  if (s.wants(3)) s.give(3, s.gradient().call(Op::gather, s.host<int64_t>(1), index).call(Op::sum_to, s.in(3).sizes()));
}
void scatter_add(Step& s) {
  if (s.wants(0)) s.give(0, s.gradient());
  if (s.wants(3))
    s.give(3, s.gradient().call(Op::gather, s.host<int64_t>(1), s.in(2)).call(Op::sum_to, s.in(3).sizes()));
}
void index_select(Step& s) {
  s.give(0, zeros(s, s.in(0).sizes()).call(Op::index_add, s.host<int64_t>(1), s.in(2), s.gradient()));
}
/// A mask takes as many elements as it likes, other ones in each batch, and gradients behind it hang on how many.
void index_tensor(Step& s) {
  const Term index = s.in(2);
  if (index.dtype() == DType::Bool) return;
  s.give(0, zeros(s, s.in(0).sizes()).call(Op::put_add, s.host<int64_t>(1), index, s.gradient()));
}
/// Of places that are written to twice each value has the gradient, as LibTorch has it.
void put_tensor(Step& s) {
  const int64_t dim = s.host<int64_t>(1);
  const Term index = s.in(2);
  // One zero, which is broadcast.
  if (s.wants(0)) s.give(0, s.gradient().call(Op::put_tensor, dim, index, zeros(s, {})));
  if (s.wants(3)) s.give(3, s.gradient().call(Op::index_tensor, dim, index).call(Op::sum_to, s.in(3).sizes()));
}
void select(Step& s) {
  s.give(0, zeros(s, s.in(0).sizes()).call(Op::put_select, s.host<int64_t>(1), s.host<int64_t>(2), s.gradient()));
}
void slice(Step& s) {
  s.give(0, zeros(s, s.in(0).sizes())
                .call(Op::put_slice, s.host<int64_t>(1), s.node().arguments[2], s.node().arguments[3], s.gradient()));
}
void put_select(Step& s) {
  const int64_t dim = s.host<int64_t>(1), index = s.host<int64_t>(2);
  if (s.wants(0)) {
    Ints sizes = s.in(0).sizes();
    sizes.erase(sizes.begin() + (dim < 0 ? dim + int64_t(sizes.size()) : dim));
    s.give(0, s.gradient().call(Op::put_select, dim, index, zeros(s, sizes)));
  }
  if (s.wants(3)) s.give(3, s.gradient().call(Op::select, dim, index).call(Op::sum_to, s.in(3).sizes()));
}
void put_slice(Step& s) {
  const Argument &dim = s.node().arguments[1], &start = s.node().arguments[2], &end = s.node().arguments[3];
  // One zero, which is broadcast.
  if (s.wants(0)) s.give(0, s.gradient().call(Op::put_slice, dim, start, end, zeros(s, {})));
  if (s.wants(4)) s.give(4, s.gradient().call(Op::slice, dim, start, end).call(Op::sum_to, s.in(4).sizes()));
}

constexpr RuleRow kShapeRules[] = {
    {Op::reshape, reshaped},
    {Op::flatten, reshaped},
    {Op::squeeze, reshaped},
    {Op::unsqueeze, reshaped},
    {Op::permute, permute},
    {Op::transpose, transpose},
    {Op::expand, expand},
    {Op::cat, cat},
    {Op::stack, stack},
    {Op::chunk, parts},
    {Op::split, parts},
    {Op::flip, flip},
    {Op::roll, roll},
    {Op::repeat, repeat},
    {Op::tril, tril},
    {Op::triu, triu},
    {Op::diagonal, diagonal},
    {Op::pad, pad},
    {Op::interpolate, interpolate},
    {Op::pixel_shuffle, pixel_shuffle},
    {Op::gather, gather},
    {Op::scatter, scatter},
    {Op::scatter_add, scatter_add},
    {Op::index_select, index_select},
    {Op::index_tensor, index_tensor},
    {Op::put_tensor, put_tensor},
    {Op::select, select},
    {Op::slice, slice},
    {Op::put_select, put_select},
    {Op::put_slice, put_slice},
};

}  // namespace

std::span<const RuleRow> shape_rules() { return kShapeRules; }

}  // namespace ltr::plan
