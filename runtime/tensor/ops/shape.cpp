#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/index_list.h"
#include "runtime/tensor/range.h"

namespace ltr {

namespace {

/// A slice's bound, counted from the end if negative.
at::Tensor sliced(const at::Tensor& x, int64_t dim, Option<int64_t> start, Option<int64_t> end) {
  return at::slice(x, dim, start, end, 1);
}

/// R1006 unless a tensor of `dims`, one of which may be -1, holds as many elements as `x`.
void need_same_count(const at::Tensor& x, const Ints& dims) {
  int64_t known = 1;
  bool is_open = false;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      is_open = true;
    } else {
      known *= dim;
    }
  }
  const bool fits = is_open ? known == 0 || x.numel() % known == 0 : known == x.numel();
  if (fits) return;
  throw error_here(err::shape_check_failed,
                   fmt::format("a tensor [{}] of {} elements does not fit into [{}]", fmt::join(x.sizes().vec(), ", "),
                               x.numel(), fmt::join(dims, ", ")));
}

}  // namespace

Tensor reshape(const Tensor& x, const Ints& dims) {
  return guarded([&] {
    need_same_count(In(x), dims);
    return give(at::reshape(In(x), dims));
  });
}

Tensor flatten(const Tensor& x, int64_t start, int64_t end) {
  return guarded([&] { return give(at::flatten(In(x), start, end)); });
}

Tensor permute(const Tensor& x, const Ints& axes) {
  return guarded([&] { return give(at::permute(In(x), axes)); });
}

Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  return guarded([&] { return give(at::transpose(In(x), a, b)); });
}

Tensor squeeze(const Tensor& x, Option<int64_t> dim) {
  return guarded([&] {
    if (!dim) return give(at::squeeze(In(x)));
    if (In(x)->size(*dim) != 1) {
      throw error_here(err::shape_check_failed, fmt::format("squeeze: dim {} has size {}", *dim, In(x)->size(*dim)));
    }
    return give(at::squeeze(In(x), *dim));
  });
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  return guarded([&] { return give(at::unsqueeze(In(x), dim)); });
}

Tensor expand(const Tensor& x, const Ints& dims) {
  return guarded([&] { return give(In(x)->expand(dims)); });
}

Tensor cat(const Tensors& tensors, int64_t dim) {
  return guarded([&] { return give(at::cat(aten(tensors), dim)); });
}

Tensor stack(const Tensors& tensors, int64_t dim) {
  return guarded([&] { return give(at::stack(aten(tensors), dim)); });
}

Tensors chunk(const Tensor& x, int64_t n, int64_t dim) {
  return guarded([&] {
    const In whole(x);
    if (n < 1 || whole->size(dim) % n != 0) {
      throw error_here(err::does_not_divide, n, fmt::format("dim {} of size {}", dim, whole->size(dim)));
    }
    return give(at::chunk(whole, n, dim));
  });
}

Tensors split(const Tensor& x, const Ints& sizes, int64_t dim) {
  return guarded([&] { return give(at::split_with_sizes(In(x), sizes, dim)); });
}

Tensor flip(const Tensor& x, const Ints& axes) {
  return guarded([&] { return give(at::flip(In(x), axes)); });
}

Tensor roll(const Tensor& x, int64_t shift, int64_t dim) {
  return guarded([&] { return give(at::roll(In(x), shift, dim)); });
}

Tensor repeat(const Tensor& x, const Ints& counts) {
  return guarded([&] { return give(In(x)->repeat(counts)); });
}

Tensor tril(const Tensor& x, int64_t diagonal) {
  return guarded([&] { return give(at::tril(In(x), diagonal)); });
}

Tensor triu(const Tensor& x, int64_t diagonal) {
  return guarded([&] { return give(at::triu(In(x), diagonal)); });
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t a, int64_t b) {
  return guarded([&] { return give(at::diagonal(In(x), offset, a, b)); });
}

namespace {

/// R1006 of a border that is made of more than there is.
void check_borders(const at::Tensor& x, const Ints& sizes, const Str& mode) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t there = x.size(x.dim() - 1 - int64_t(i / 2)), most = mode == "reflect" ? there - 1 : there;
    if (sizes[i] <= most) continue;
    throw error_here(err::shape_check_failed, fmt::format("a border of {} is {} at most where there are {}, not {}",
                                                          mode, most, there, sizes[i]));
  }
}

}  // namespace

Tensor pad(const Tensor& x, const Ints& sizes, const Str& mode, double value) {
  return guarded([&] {
    if (mode == "constant") return give(at::constant_pad_nd(In(x), sizes, value));
    if (mode == "reflect" || mode == "circular") check_borders(In(x), sizes, mode);
    return give(at::pad(In(x), sizes, mode));
  });
}

Tensor interpolate(const Tensor& x, int64_t height, int64_t width, const Str& mode, bool align_corners) {
  return guarded([&] {
    const std::vector<int64_t> size{height, width};
    if (mode == "nearest") return give(at::upsample_nearest2d(In(x), size));
    if (mode == "bilinear") return give(at::upsample_bilinear2d(In(x), size, align_corners));
    return give(at::upsample_bicubic2d(In(x), size, align_corners));
  });
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  return guarded([&] {
    return in_range(In(index), In(x)->size(dim), std::nullopt, "index", false,
                    [&] { return give(at::gather(In(x), dim, In(index))); });
  });
}

// A number as source is written to every place.

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return guarded([&] {
    const In places(index);
    return give(at::scatter(In(x), dim, places, In(source)->expand(places->sizes())));
  });
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return guarded([&] {
    const In places(index);
    return give(at::scatter_add(In(x), dim, places, In(source)->expand(places->sizes())));
  });
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  return guarded([&] { return give(at::index_select(In(x), dim, In(index))); });
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  return guarded([&] { return give(at::select(In(x), dim, index)); });
}

Tensor slice(const Tensor& x, int64_t dim, Option<int64_t> start, Option<int64_t> end) {
  return guarded([&] { return give(sliced(In(x), dim, start, end)); });
}

Tensor index_tensor(const Tensor& x, int64_t dim, const Tensor& index) {
  return guarded([&] { return give(at::index(In(x), indices(dim, In(x), In(index)))); });
}

// A tensor is a value: what is written to is a copy, and gradients flow through both.

Tensor put_select(const Tensor& x, int64_t dim, int64_t index, const Tensor& value) {
  return guarded(
      [&] { return give(at::select_scatter(In(x), In(value)->expand_as(at::select(In(x), dim, index)), dim, index)); });
}

Tensor put_slice(const Tensor& x, int64_t dim, Option<int64_t> start, Option<int64_t> end, const Tensor& value) {
  return guarded([&] {
    const at::Tensor place = sliced(In(x), dim, start, end);
    return give(at::slice_scatter(In(x), In(value)->expand_as(place), dim, start, end, 1));
  });
}

Tensor put_tensor(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  return guarded([&] { return give(at::index_put(In(x), indices(dim, In(x), In(index)), In(value))); });
}

}  // namespace ltr
