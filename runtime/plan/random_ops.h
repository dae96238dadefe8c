#pragma once

// The ops of random steps, by rooms as `cpu/lower/` has them. Each takes what fits from the step, or has it given.

#include "runtime/plan/random_images.h"
#include "runtime/plan/random_layers.h"
#include "runtime/plan/random_losses.h"
#include "runtime/plan/random_numbers.h"
#include "runtime/plan/random_step.h"
#include "runtime/tensor/mode.h"

namespace ltr::plan::random_step {

using Maker = void (*)(RandomStep& s);

// ---- elements

inline void make_function(RandomStep& s) {
  using Function = Tensor (*)(const Tensor&);
  static constexpr Function kAny[] = {relu,
                                      relu6,
                                      silu,
                                      mish,
                                      selu,
                                      hardswish,
                                      logsigmoid,
                                      abs,
                                      exp,
                                      sin,
                                      cos,
                                      tanh,
                                      sigmoid,
                                      erf,
                                      sign,
                                      square,
                                      clone,
                                      stop_grad,
                                      floor,
                                      ceil,
                                      round,
                                      neg,
                                      [](const Tensor& x) { return tracked(stop_grad(x)); },
                                      [](const Tensor& x) { return to(to(x, DType::F64), DType::Float); },
                                      [](const Tensor& x) { return to(to(x, DType::F32), DType::Float); }};
  static constexpr Function kAbove[] = {log, log1p, sqrt, rsqrt};
  const Tensor x = s.any();
  s.keep(s.rng.chance(0.2) ? s.rng.one_of(kAbove)(s.above_zero(x)) : s.rng.one_of(kAny)(x));
}

inline void make_set_function(RandomStep& s) {
  const Tensor x = s.any();
  switch (s.rng.from(0, 6)) {
    case 0: return s.keep(gelu(x, s.rng.chance(0.5) ? "tanh" : "none"));
    case 1: return s.keep(elu(x, s.rng.real(0.2, 1.5)));
    case 2: return s.keep(leaky_relu(x, s.rng.real(0, 0.5)));
    case 3: return s.keep(softplus(x, s.rng.chance(0.5) ? 1 : s.rng.real(0.5, 2)));
    case 4: {
      const Option<double> low = s.rng.chance(0.7) ? Option<double>(s.rng.real(-1, 0)) : std::nullopt;
      return s.keep(clamp(x, low, low && s.rng.chance(0.3) ? std::nullopt : Option<double>(s.rng.real(0, 1))));
    }
    case 5: return axes_of(x) < 2 ? void() : s.keep(prelu(x, s.leaf({s.rng.chance(0.5) ? 1 : s.size(x, 1)}, 0, 0.5)));
    default: return s.keep(dropout(x, s.rng.real(0.1, 0.7)));
  }
}

inline void make_binary(RandomStep& s) {
  using Function = Tensor (*)(const Tensor&, const Tensor&);
  static constexpr Function kFunctions[] = {add, sub, mul, minimum, maximum};
  const Tensor x = s.any(), y = s.beside(x);
  if (s.rng.chance(0.1)) return s.keep(div(x, s.above_zero(y)));
  if (s.rng.chance(0.1)) return s.keep(pow(s.above_zero(x), y));
  if (s.rng.chance(0.05)) return s.keep(remainder(x, s.above_zero(y)));
  s.keep(s.rng.chance(0.5) ? s.rng.one_of(kFunctions)(x, y) : s.rng.one_of(kFunctions)(y, x));
}

inline void make_number(RandomStep& s) {
  const Tensor x = s.any();
  const Scalar number = s.rng.chance(0.3) ? Scalar(s.rng.from(1, 3)) : Scalar(s.rng.real(-1.5, 1.5));
  switch (s.rng.from(0, 14)) {
    case 10: return s.keep(mul(number, x));
    case 11: return s.keep(maximum(number, x));
    case 12: return s.keep(minimum(x, number));
    case 13: return s.keep(remainder(x, Scalar(s.rng.real(0.3, 2))));
    case 14: return s.keep(remainder(number, s.above_zero(x)));
    case 0: return s.keep(add(number, x));
    case 1: return s.keep(sub(x, number));
    case 2: return s.keep(sub(number, x));
    case 3: return s.keep(mul(x, number));
    case 4: return s.keep(div(number, s.above_zero(x)));
    case 5: return s.keep(div(x, Scalar(s.rng.real(0.5, 3))));
    case 6: return s.keep(pow(s.above_zero(x), Scalar(s.rng.chance(0.5) ? 2.0 : s.rng.real(-1, 2))));
    case 7: return s.keep(pow(Scalar(s.rng.real(0.5, 2)), x));
    case 8: return s.keep(maximum(x, number));
    default: return s.keep(minimum(number, x));
  }
}

inline void make_condition(RandomStep& s) {
  using Function = Tensor (*)(const Tensor&, const Tensor&);
  static constexpr Function kFunctions[] = {lt, le, gt, ge, ne, eq};
  static constexpr Tensor (*kOfNumbers[])(const Tensor&, Scalar) = {lt, le, gt, ge, ne, eq, logical_and, logical_or};
  static constexpr Tensor (*kBehindNumbers[])(Scalar, const Tensor&) = {lt, le, gt,          ge,
                                                                        ne, eq, logical_and, logical_or};
  const Tensor x = s.any(), y = s.beside(x), is = s.condition(x);
  const Scalar number(s.rng.real(-0.5, 0.5));
  switch (s.rng.from(0, 11)) {
    case 9:
    case 10: {
      Tensor found = isfinite(x);
      for (const auto function : kOfNumbers) found = logical_and(found, function(x, number));
      for (const auto function : kBehindNumbers) found = logical_or(function(number, x), found);
      return s.keep(found);
    }
    case 11: return s.keep(isfinite(x));
    case 0: return s.keep(s.rng.one_of(kFunctions)(x, y));
    case 1: return s.keep(logical_and(is, lt(x, number)));
    case 2: return s.keep(logical_or(ge(x, number), is));
    case 3: return s.keep(logical_not(is));
    case 4: return s.keep(where(is, x, y));
    case 5: return s.keep(where(is, number, x));
    case 6: return s.keep(s.rng.chance(0.5) ? where(is, x, number) : mul(where(is, number, Scalar(2.0)), x));
    case 7: return s.keep(masked_fill(x, sizes_of(is) == sizes_of(x) ? is : gt(x, number), number));
    default: return s.keep(mul(to(is, DType::Float), x));
  }
}

// ---- views, and what moves elements

inline void make_view(RandomStep& s) {
  const Tensor x = s.any(1);
  const int64_t axis = s.axis(x), size = s.size(x, axis);
  switch (s.rng.from(0, 8)) {
    case 0: {  // other axes
      int64_t rest = count_of(x);
      if (rest == 0) return;
      Ints sizes;
      for (int i = 0; i < 3; ++i) {
        int64_t one = s.rng.pick({1, 2, 3, 4, 5, s.batch, size});
        if (rest % one != 0) one = 1;
        sizes.push_back(one);
        rest /= one;
      }
      sizes.insert(sizes.begin() + s.rng.from(0, 3), rest);
      return s.keep(reshape(x, sizes));
    }
    case 1: {
      const int64_t start = s.rng.from(0, axes_of(x) - 1);
      return s.keep(flatten(x, start, s.rng.from(start, axes_of(x) - 1)));
    }
    case 2: {
      Ints axes;
      for (int64_t i = 0; i < axes_of(x); ++i) axes.insert(axes.begin() + s.rng.from(0, i), i);
      return s.keep(permute(x, axes));
    }
    case 3: return s.keep(transpose(x, axis, s.axis(x)));
    case 4: return s.keep(axes_of(x) < 4 ? unsqueeze(x, s.rng.from(-axes_of(x) - 1, axes_of(x))) : squeeze(x, {}));
    case 5: {
      Ints sizes = sizes_of(x);
      int64_t room = 50000 / std::max<int64_t>(count_of(x), 1);
      const auto wide = [&](int64_t size) {
        if (size > room) return int64_t(1);
        room /= size;
        return size;
      };
      for (int64_t& one : sizes) {
        if (one == 1) one = wide(s.rng.pick({1, 3, s.batch}));
      }
      if (sizes.size() < 4 && s.rng.chance(0.5)) sizes.insert(sizes.begin(), wide(s.rng.pick({2, s.batch})));
      return s.keep(expand(x, sizes));
    }
    case 6: {
      if (size == 0) return;
      const int64_t start = s.rng.from(0, size - 1), end = s.rng.from(start + (s.rng.chance(0.05) ? 0 : 1), size);
      return s.keep(slice(x, axis, s.rng.chance(0.2) ? Option<int64_t>() : Option<int64_t>(start),
                          end == size ? Option<int64_t>() : Option<int64_t>(end)));
    }
    case 7: return size == 0 ? void() : s.keep(select(x, axis, s.rng.from(-size, size - 1)));
    default: {
      if (size < 2) return;
      const int64_t first = s.rng.from(1, size - 1);
      const Tensors parts =
          size % 2 == 0 && s.rng.chance(0.5) ? chunk(x, 2, axis) : split(x, {first, size - first}, axis);
      for (const Tensor& part : parts) s.keep(part);
    }
  }
}

inline void make_moved(RandomStep& s) {
  const Tensor x = s.some(1, 3);
  const int64_t axis = s.axis(x);
  switch (s.rng.from(0, 8)) {
    case 0: {
      Ints sizes = sizes_of(x);
      sizes[size_t(axis < 0 ? axis + axes_of(x) : axis)] = s.rng.from(1, 5);
      return s.keep(s.rng.chance(0.5) ? cat({x, s.leaf(sizes)}, axis) : cat({s.leaf(sizes), x, x}, axis));
    }
    case 1: {
      Tensor other = s.beside(x);
      if (sizes_of(other) != sizes_of(x)) other = square(x);
      return s.keep(stack({x, other}, s.rng.from(-axes_of(x) - 1, axes_of(x))));
    }
    case 2: return s.keep(flip(x, s.rng.chance(0.5) || axes_of(x) == 1 ? Ints{axis} : Ints{0, 1}));
    case 3: return s.keep(roll(x, s.rng.from(-5, 5), axis));
    case 4: return s.keep(repeat(x, Ints(size_t(axes_of(x)), s.rng.from(1, 2))));
    case 5:
      return axes_of(x) < 2 ? void()
                            : s.keep(s.rng.chance(0.5) ? tril(x, s.rng.from(-1, 1)) : triu(x, s.rng.from(-1, 1)));
    case 6: {
      const int64_t size = std::min<int64_t>(s.size(x, 0), 40);
      return s.keep(diagonal(axes_of(x) > 1 && s.size(x, 0) == s.size(x, 1) ? x : s.leaf({size, size, 2}), 0, 0, 1));
    }
    case 7: {
      if (s.rng.chance(0.5) || axes_of(x) < 2)
        return s.keep(pad(x, {s.rng.from(0, 3), s.rng.from(-1, 3)}, "constant", s.rng.real(-1, 1)));
      static constexpr const char* kModes[] = {"reflect", "replicate", "circular"};
      const int64_t most = s.size(x, -1) - 1;
      return s.keep(pad(x, {std::min<int64_t>(most, s.rng.from(0, 3)), std::min<int64_t>(most, s.rng.from(0, 2))},
                        s.rng.one_of(kModes), 0));
    }
    default: {
      const Tensor image = s.some(4);
      if (s.rng.chance(0.4))
        return s.keep(pixel_shuffle(s.size(image, 1) % 4 == 0 ? image : s.leaf({s.batch, 8, 3, 2}), 2));
      static constexpr const char* kModes[] = {"nearest", "bilinear", "bicubic"};
      const Str mode = s.rng.one_of(kModes);
      return s.keep(
          interpolate(image, s.rng.from(1, 9), s.rng.from(1, 9), mode, mode != "nearest" && s.rng.chance(0.3)));
    }
  }
}

// ---- one of many

inline void make_reduction(RandomStep& s) {
  const Tensor x = s.some();
  const Option<int64_t> dim = s.axis_or_all(x);
  const bool kept = s.rng.chance(0.5);
  const int64_t wide = dim ? s.size(x, *dim) : count_of(x);
  switch (s.rng.from(0, 14)) {
    case 0:
    case 1: return s.keep(sum(x, dim, kept));
    case 2:
    case 3: return s.keep(mean(x, dim, kept));
    case 4: return s.keep(max(x, dim, kept));
    case 5: return s.keep(min(x, dim, kept));
    case 6: return wide < 2 ? void() : s.keep(var(x, dim, kept, s.rng.chance(0.5)));
    case 7: return wide < 2 ? void() : s.keep(std_(x, dim, kept, s.rng.chance(0.5)));
    case 8: return s.keep(to(argmax(x, dim, kept), DType::Float));
    case 9: return s.keep(to(argmin(x, dim, kept), DType::Float));
    case 10: return s.keep(logsumexp(x, dim, kept));
    case 11: return s.keep(norm(s.above_zero(x), double(s.rng.from(1, 3)), dim, kept));
    case 14:
      if (!dim) return;
      return s.keep(s.rng.chance(0.5) ? cumprod(x, *dim) : logcumsumexp(x, *dim));
    case 12: {
      const Tensor is = s.condition(x);
      const Option<int64_t> along = s.axis_or_all(is);
      return s.keep(s.rng.chance(0.5) ? any(is, along, kept) : all(is, along, kept));
    }
    default: return dim ? s.keep(cumsum(x, *dim)) : s.keep(prod(x, dim, kept));
  }
}

inline void make_rows(RandomStep& s) {
  const Tensor x = s.some(1);
  const int64_t axis = s.rng.chance(0.7) ? -1 : s.axis(x);
  switch (s.rng.from(0, 4)) {
    case 0: return s.keep(softmax(x, axis));
    case 1: return s.keep(log_softmax(x, axis));
    case 2: return s.keep(std::get<0>(topk(x, s.rng.from(1, s.size(x, axis)), axis)));
    case 3: return s.keep(std::get<0>(sort(x, axis, s.rng.chance(0.5))));
    default: {
      const Tensor both = s.size(x, -1) % 2 == 0 ? x : cat({x, s.leaf(sizes_of(x))}, -1);
      return s.keep(s.rng.chance(0.5) ? glu(both) : swiglu(both));
    }
  }
}

// ---- products

inline void make_product(RandomStep& s) {
  const Tensor x = s.some(1);
  const int64_t depth = s.size(x, -1), columns = s.rng.pick({1, 2, 5, 8, 15, 16, 17, 33, 40});
  // Sums of many products stay about as large as their factors.
  const double size = 1 / std::sqrt(double(depth));
  switch (s.rng.from(0, 6)) {
    case 0:
    case 1: return s.keep(linear(x, s.leaf({columns, depth}, -size, size), s.or_none(s.leaf({columns}))));
    case 2: return s.keep(matmul(x, s.leaf({depth, columns}, -size, size)));
    case 3: {  // products side by side; axes in front may stretch
      if (axes_of(x) < 3) return;
      Ints right = sizes_of(x);
      right[right.size() - 2] = depth;
      right.back() = columns;
      if (s.rng.chance(0.4)) right[0] = 1;
      if (right.size() > 3 && s.rng.chance(0.3)) right.erase(right.begin());
      return s.keep(matmul(x, s.leaf(right, -size, size)));
    }
    case 4: {  // of what the step has on both sides
      if (axes_of(x) < 2) return;
      const Tensor y = mul(transpose(x, -1, -2), Scalar(size));
      return s.keep(s.rng.chance(0.5) ? matmul(x, y) : matmul(y, x));
    }
    case 5: {
      if (axes_of(x) != 2) {
        const Tensor many = axes_of(x) == 3 ? x : s.leaf({s.batch, 3, depth}),
                     y = s.leaf({s.size(many, 0), depth, columns}, -size, size);
        return s.keep(s.rng.chance(0.5) ? bmm(many, y) : einsum("bij,bjk->bik", {many, y}));
      }
      return s.keep(einsum(s.rng.chance(0.5) ? "ij,kj->ik" : "ij,kj->ki", {x, s.leaf({columns, depth}, -size, size)}));
    }
    default: {
      if (axes_of(x) < 2 || depth > 17) return;
      Ints right = sizes_of(x);
      right.back() = 3;
      return s.keep(bilinear(x, s.leaf(right), s.leaf({4, depth, 3}, -size, size), s.or_none(s.leaf({4}))));
    }
  }
}

inline void make_attention(RandomStep& s) {
  const int64_t heads = s.rng.pick({1, 2, 4}), places = s.rng.pick({1, 3, 8, 17, 33}),
                width = s.rng.pick({1, 4, 8, 17}), others = s.rng.chance(0.6) ? places : s.rng.pick({1, 5, 20});
  Tensor q;
  for (const Tensor& one : s.floats) {
    if (sizes_of(one) == Ints{s.batch, heads, places, width}) q = one;
  }
  if (!q.defined()) q = s.leaf({s.batch, heads, places, width});
  const int64_t groups = heads > 1 && s.rng.chance(0.2) ? heads / 2 : heads;
  const Tensor k =
      s.rng.chance(0.2) && groups == heads && others == places ? q : s.leaf({s.batch, groups, others, width});
  const Tensor v = s.leaf({s.batch, groups, others, s.rng.chance(0.7) ? width : 5});
  if (s.rng.chance(0.2) && width % 2 == 0) q = rope(q, 100, s.rng.from(0, 2));
  const bool causal = s.rng.chance(0.5) && places == others;
  Tensor mask;
  if (s.rng.chance(0.4)) {
    const Ints sizes[] = {{places, others}, {s.batch, 1, places, others}, {s.batch, 1, 1, others}, {heads, places, 1}};
    mask = s.leaf(s.rng.one_of(sizes));
    if (s.rng.chance(0.4)) mask = lt(mask, Scalar(s.rng.real(-0.5, 0.9)));
  }
  s.keep(attention(q, k, v, mask, causal, s.rng.chance(0.25) ? 0.3 : 0,
                   s.rng.chance(0.3) ? Option<double>(0.4) : std::nullopt));
}

// ---- norms

inline void make_norm(RandomStep& s) {
  const Tensor x = s.some(2);
  const int64_t last = s.size(x, -1), channels = s.size(x, 1), places = count_of(x) / channels;
  const auto scale = [&](int64_t size) { return s.or_none(s.leaf({size}, 0.5, 1.5)); };
  const auto shift = [&](int64_t size) { return s.or_none(s.leaf({size})); };
  constexpr double kEps = 0.01;  // of what is nearly constant the last bits would be all
  switch (s.rng.from(0, 5)) {
    case 0: return s.keep(layer_norm(x, scale(last), shift(last), kEps));
    case 1: return s.keep(rms_norm(x, scale(last), s.rng.chance(0.9) ? Option<double>(kEps) : std::nullopt));
    case 2: {
      const int64_t groups = channels % 2 == 0 && s.rng.chance(0.5) ? 2 : s.rng.chance(0.5) ? channels : 1;
      return places / s.size(x, 0) * (channels / groups) < 2
                 ? void()
                 : s.keep(group_norm(x, groups, scale(channels), shift(channels), kEps));
    }
    case 3:
      return axes_of(x) < 3 || places / s.size(x, 0) < 2
                 ? void()
                 : s.keep(instance_norm(x, scale(channels), shift(channels), kEps));
    default: {
      if (places < 2) return;
      const bool keeps = s.rng.chance(0.8);
      const Tensor mean = keeps ? s.buffer(at::linspace(-0.1, 0.1, channels)) : Tensor(),
                   var = keeps ? s.buffer(at::linspace(0.8, 1.1, channels)) : Tensor(),
                   seen = keeps ? s.buffer(at::zeros({}, at::kLong)) : Tensor();
      const ModeScope mode(!keeps || s.rng.chance(0.8), true);
      return s.keep(batch_norm(x, scale(channels), shift(channels), mean, var, seen, 0.2, kEps));
    }
  }
}

// ---- by an index

inline void make_indexed(RandomStep& s) {
  const Tensor x = s.some(1, 3);
  const int64_t axis = s.axis(x), size = s.size(x, axis);
  Ints places = sizes_of(x);
  places[size_t(axis < 0 ? axis + axes_of(x) : axis)] = s.rng.from(1, 5);
  switch (s.rng.from(0, 10)) {
    case 0: {
      const int64_t rows = s.rng.from(1, 30);
      const Ints sizes = s.rng.chance(0.5) ? Ints{s.batch} : Ints{s.batch, s.rng.from(1, 9)};
      return s.keep(embedding(s.whole(sizes, 0, rows - 1), s.leaf({rows, s.rng.pick({1, 4, 17})})));
    }
    case 1: return s.keep(gather(x, axis, s.whole(places, 0, size - 1)));
    case 2: return s.keep(scatter_add(x, axis, s.whole(places, 0, size - 1), s.leaf(places)));
    case 3: return s.keep(index_select(x, axis, s.whole({s.rng.from(1, 6)}, 0, size - 1)));
    case 4: return s.keep(index_tensor(x, axis, s.whole({s.rng.from(1, 6)}, -size, size - 1)));
    case 5: {
      const int64_t at = s.rng.from(-size, size - 1);
      Ints part = sizes_of(x);
      part.erase(part.begin() + (axis < 0 ? axis + axes_of(x) : axis));
      return s.keep(put_select(x, axis, at, s.leaf(part)));
    }
    case 6: {
      const int64_t start = s.rng.from(0, size - 1), end = s.rng.from(start + 1, size);
      places[size_t(axis < 0 ? axis + axes_of(x) : axis)] = end - start;
      return s.keep(put_slice(x, axis, start, end, s.leaf(places)));
    }
    case 10: return s.keep(scatter(x, axis, s.whole(places, 0, size - 1), s.leaf({})));
    case 7: return s.keep(put_tensor(x, 0, s.whole({s.rng.from(1, 4)}, 0, s.size(x, 0) - 1), s.leaf({})));
    case 8: return s.keep(to(one_hot(s.whole({s.batch}, 0, 4), 5), DType::Float));
    default:
      return s.keep(
          mul(add(x, full({s.size(x, -1)}, Scalar(s.rng.real(-1, 1)))), add(ones({s.size(x, -1)}), zeros({1}))));
  }
}

/// Some more often than others, as programs have them.
inline constexpr Maker kMakers[] = {
    make_function,  make_function,  make_set_function, make_binary,    make_binary,      make_number,    make_number,
    make_condition, make_condition, make_view,         make_view,      make_moved,       make_reduction, make_reduction,
    make_rows,      make_product,   make_product,      make_attention, make_convolution, make_volume,    make_pool,
    make_norm,      make_norm,      make_recurrent,    make_indexed,   make_loss,        make_pair_loss, make_draw,
    make_constant,  make_whole,     make_counts};

}  // namespace ltr::plan::random_step
