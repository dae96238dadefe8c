// Gradients of products: matrices, layers, convolutions, attention.

#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

Term transposed(const Term& x) { return x.call(Op::transpose, -2, -1); }

/// Vectors are matrices of one row, or column, of which the result has no axis.
void matmul(Step& s) {
  Term a = s.in(0), b = s.in(1), gradient = s.gradient();
  const bool is_row = a.dim() == 1, is_column = b.dim() == 1;
  Ints out = s.out().sizes();
  if (is_column) out.push_back(1);
  if (is_row) out.insert(out.end() - 1, 1);
  if (is_row || is_column) gradient = gradient.call(Op::reshape, out);
  const Term left = is_row ? a.call(Op::reshape, Ints{1, a.size(0)}) : a;
  const Term right = is_column ? b.call(Op::reshape, Ints{b.size(0), 1}) : b;
  const auto back = [](const Term& found, const Term& of, const Ints& sizes) {
    return found.call(Op::sum_to, sizes).call(Op::reshape, of.sizes());
  };
  const Ints left_sizes = is_row ? Ints{1, a.size(0)} : a.sizes();
  const Ints right_sizes = is_column ? Ints{b.size(0), 1} : b.sizes();
  if (s.wants(0)) s.give(0, back(gradient.call(Op::matmul, transposed(right)), a, left_sizes));
  if (s.wants(1)) s.give(1, back(transposed(left).call(Op::matmul, gradient), b, right_sizes));
}
void bmm(Step& s) {
  if (s.wants(0)) s.give(0, s.gradient().call(Op::bmm, transposed(s.in(1))));
  if (s.wants(1)) s.give(1, transposed(s.in(0)).call(Op::bmm, s.gradient()));
}

/// Rows of any number of axes.
int64_t rows_of(const Ints& sizes) {
  int64_t count = 1;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) count *= sizes[i];
  return count;
}
Term rows(const Term& x, const Ints& sizes) { return x.call(Op::reshape, Ints{rows_of(sizes), sizes.back()}); }
void linear(Step& s) {
  const Term x = s.in(0), weight = s.in(1), gradient = rows(s.gradient(), s.out().sizes());
  if (s.wants(0)) s.give(0, gradient.call(Op::matmul, weight).call(Op::reshape, x.sizes()));
  if (s.wants(1)) s.give(1, transposed(gradient).call(Op::matmul, rows(x, x.sizes())));
  if (s.wants(2)) s.give(2, gradient.call(Op::sum, int64_t(0), false));
}
/// y_o = Σ_ij l_i W_oij r_j + b_o, for each row.
void bilinear(Step& s) {
  const Term left = s.in(0), right = s.in(1), weight = s.in(2), gradient = rows(s.gradient(), s.out().sizes());
  const int64_t outs = weight.size(0), i = weight.size(1), j = weight.size(2), pairs = i * j;
  const Term l = rows(left, left.sizes()), r = rows(right, right.sizes());
  const int64_t count = rows_of(left.sizes());
  if (s.wants(0) || s.wants(1)) {
    const Term each = gradient.call(Op::matmul, weight.call(Op::reshape, Ints{outs, pairs}));
    const Term matrices = each.call(Op::reshape, Ints{count, i, j});
    const Term column = r.call(Op::reshape, Ints{count, j, 1}), row = l.call(Op::reshape, Ints{count, 1, i});
    if (s.wants(0)) s.give(0, matrices.call(Op::bmm, column).call(Op::reshape, left.sizes()));
    if (s.wants(1)) s.give(1, row.call(Op::bmm, matrices).call(Op::reshape, right.sizes()));
  }
  if (s.wants(2)) {
    const Term both = l.call(Op::reshape, Ints{count, i, 1}) * r.call(Op::reshape, Ints{count, 1, j});
    const Term flat = both.call(Op::reshape, Ints{count, pairs});
    s.give(2, transposed(gradient).call(Op::matmul, flat).call(Op::reshape, weight.sizes()));
  }
  if (s.wants(3)) s.give(3, gradient.call(Op::sum, int64_t(0), false));
}
void embedding(Step& s) { s.give(1, s.gradient().call(Op::embedding_backward, s.in(0), s.in(1).size(0))); }

/// Channels are axis 1; a bias is added in all places.
void bias(Step& s) {
  if (!s.wants(2)) return;
  Ints sizes(s.out().sizes().size(), 1);
  sizes[1] = s.out().size(1);
  s.give(2, s.gradient().call(Op::sum_to, sizes).call(Op::reshape, s.in(2).sizes()));
}
/// Sizes of one axis of space, or of several.
Ints sizes_of(const Step& s, size_t at, bool is_line) { return is_line ? Ints{s.host<int64_t>(at)} : s.host<Ints>(at); }

void convolved(Step& s, bool is_transposed, const Ints& stride, const Ints& padding, const Ints& dilation,
               const Ints& output_padding, int64_t groups) {
  bias(s);
  if (!s.wants(0) && !s.wants(1)) return;
  const std::vector<ValueId> found =
      s.builder().call(Op::conv_backward, s.gradient().dtype(), 2,
                       {ValueRef{s.gradient().id()}, ValueRef{s.in(0).id()}, ValueRef{s.in(1).id()}, stride, padding,
                        dilation, is_transposed, output_padding, groups});
  s.give(0, {s.builder(), found[0]});
  s.give(1, {s.builder(), found[1]});
}
void conv(Step& s) {
  const bool is_line = s.in(0).sizes().size() == 3;
  const Ints stride = sizes_of(s, 3, is_line);
  convolved(s, false, stride, s.host<Ints>(4), sizes_of(s, 5, is_line), Ints(stride.size(), 0), s.host<int64_t>(6));
}
void conv_transpose(Step& s) {
  const bool is_line = s.in(0).sizes().size() == 3;
  Ints ends;
  for (const int64_t both : sizes_of(s, 4, is_line)) ends.insert(ends.end(), 2, both);
  convolved(s, true, sizes_of(s, 3, is_line), ends, sizes_of(s, 7, is_line), sizes_of(s, 5, is_line),
            s.host<int64_t>(6));
}

void max_pool(Step& s) {
  const bool is_line = s.in(0).sizes().size() == 3;
  s.give(0, s.gradient().call(Op::max_pool_backward, s.in(0), sizes_of(s, 1, is_line), sizes_of(s, 2, is_line),
                              sizes_of(s, 3, is_line), sizes_of(s, 4, is_line), s.host<bool>(5)));
}
void avg_pool(Step& s) {
  const bool is_line = s.in(0).sizes().size() == 3;
  s.give(0, s.gradient().call(Op::avg_pool_backward, s.in(0), sizes_of(s, 1, is_line), sizes_of(s, 2, is_line),
                              sizes_of(s, 3, is_line), s.host<bool>(4), s.host<bool>(5)));
}
void adaptive_avg_pool(Step& s) { s.give(0, s.gradient().call(Op::adaptive_avg_pool_backward, s.in(0))); }

void attention(Step& s) {
  const Node& node = s.node();
  const ValueId first =
      s.redrawn(Op::attention_backward, 4,
                {ValueRef{s.gradient().id()}, node.arguments[0], node.arguments[1], node.arguments[2],
                 node.arguments[3], node.arguments[4], node.arguments[5], node.arguments[6], s.wants(3)});
  for (size_t i = 0; i < 4; ++i) {
    if (s.wants(i)) s.give(i, {s.builder(), ValueId(first + i)});
  }
}
/// A rotation the other way.
void rope(Step& s) { s.give(0, s.gradient().call(Op::rope_backward, s.host<double>(1), s.host<int64_t>(2))); }

constexpr RuleRow kProductRules[] = {
    {Op::matmul, matmul},
    {Op::bmm, bmm},
    {Op::linear, linear},
    {Op::bilinear, bilinear},
    {Op::embedding, embedding},
    {Op::conv1d, conv},
    {Op::conv2d, conv},
    {Op::conv3d, conv},
    {Op::conv_transpose1d, conv_transpose},
    {Op::conv_transpose2d, conv_transpose},
    {Op::conv_transpose3d, conv_transpose},
    {Op::max_pool1d, max_pool},
    {Op::max_pool2d, max_pool},
    {Op::avg_pool1d, avg_pool},
    {Op::avg_pool2d, avg_pool},
    {Op::adaptive_avg_pool1d, adaptive_avg_pool},
    {Op::adaptive_avg_pool2d, adaptive_avg_pool},
    {Op::attention, attention},
    {Op::rope, rope},
};

}  // namespace

std::span<const RuleRow> product_rules() { return kProductRules; }

}  // namespace ltr::plan
