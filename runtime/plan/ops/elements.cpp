// Ops of graphs that work on elements, and move them.

#include <ATen/ATen.h>

#include "runtime/plan/ops.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/index_list.h"

namespace ltr::plan {

Tensor sum_to(const Tensor& x, const Ints& sizes) {
  return guarded([&] { return give(at::sum_to(aten(x), sizes)); });
}

Tensor blank(const Ints& sizes, DType dtype) {
  return guarded([&] { return give(at::zeros(sizes, at::TensorOptions(aten(dtype)).device(run_device()))); });
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return guarded([&] { return give(at::index_add(In(x), dim, In(index), In(source))); });
}

Tensor put_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return guarded([&] { return give(at::index_put(In(x), indices(dim, In(x), In(index)), In(source), true)); });
}

Tensor diagonal_add(const Tensor& x, const Tensor& source, int64_t offset, int64_t a, int64_t b) {
  return guarded([&] {
    at::Tensor sum = In(x)->clone();
    at::diagonal(sum, offset, a, b).add_(In(source));
    return give(sum);
  });
}

// The mask is what the function draws at this site: of ones it leaves that.
Tensor dropout_backward(const Tensor& gradient, double p) {
  return guarded([&] { return give(aten(dropout(give(at::ones_like(In(gradient))), p)) * aten(gradient)); });
}

Tensor dropout2d_backward(const Tensor& gradient, double p) {
  return guarded([&] { return give(aten(dropout2d(give(at::ones_like(In(gradient))), p)) * aten(gradient)); });
}

Tensor gelu_backward(const Tensor& gradient, const Tensor& x, const Str& form) {
  return guarded([&] { return give(at::gelu_backward(In(gradient), In(x), form == "tanh" ? "tanh" : "none")); });
}

Tensor cumprod_backward(const Tensor& gradient, const Tensor& x, int64_t dim) {
  return guarded([&] { return give(at::cumprod_backward(In(gradient), In(x), dim, at::cumprod(In(x), dim))); });
}

Tensor pad_backward(const Tensor& gradient, const Tensor& x, const Ints& sizes, const Str& mode) {
  return guarded([&] {
    const In g(gradient), of(x);
    if (mode == "constant") {
      Ints cut(sizes);
      for (int64_t& size : cut) size = -size;
      return give(at::constant_pad_nd(g, cut, 0));
    }
    if (mode == "circular") {
      at::Tensor sum = g;
      for (size_t i = 0; 2 * i + 1 < sizes.size(); ++i) {
        const int64_t axis = of->dim() - 1 - int64_t(i), size = of->size(axis);
        Ints one = sum.sizes().vec();
        one[size_t(axis)] = size;
        const at::Tensor places =
            at::arange(-sizes[2 * i], size + sizes[2 * i + 1], at::TensorOptions(at::kLong).device(sum.device()));
        sum = at::index_add(at::zeros(one, sum.options()), axis, at::remainder(places, size), sum);
      }
      return give(sum);
    }
    const bool is_mirror = mode == "reflect";
    switch (sizes.size()) {
      case 2:
        return give(is_mirror ? at::reflection_pad1d_backward(g, of, sizes)
                              : at::replication_pad1d_backward(g, of, sizes));
      case 4:
        return give(is_mirror ? at::reflection_pad2d_backward(g, of, sizes)
                              : at::replication_pad2d_backward(g, of, sizes));
      default:
        return give(is_mirror ? at::reflection_pad3d_backward(g, of, sizes)
                              : at::replication_pad3d_backward(g, of, sizes));
    }
  });
}

Tensor interpolate_backward(const Tensor& gradient, const Ints& sizes, const Str& mode, bool align_corners) {
  return guarded([&] {
    const In g(gradient);
    const Ints to{g->size(2), g->size(3)};
    if (mode == "nearest") return give(at::upsample_nearest2d_backward(g, to, sizes));
    if (mode == "bilinear") return give(at::upsample_bilinear2d_backward(g, to, sizes, align_corners));
    return give(at::upsample_bicubic2d_backward(g, to, sizes, align_corners));
  });
}

}  // namespace ltr::plan
