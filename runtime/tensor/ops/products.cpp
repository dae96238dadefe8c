#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/fused.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/narrow.h"
#include "runtime/tensor/padding.h"
#include "runtime/tensor/range.h"

namespace ltr {

Tensor matmul(const Tensor& a, const Tensor& b) {
  return guarded([&] { return give(at::matmul(Narrow(a), Narrow(b))); });
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  return guarded([&] { return give(at::bmm(Narrow(a), Narrow(b))); });
}

Tensor einsum(const Str& pattern, const Tensors& tensors) {
  return guarded([&] {
    std::vector<at::Tensor> factors;
    for (const Tensor& tensor : tensors) factors.push_back(*Narrow(tensor));
    return give(at::einsum(pattern, factors));
  });
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return guarded([&] { return give(linear_node(Narrow(x), Narrow(weight), Narrow(bias))); });
}

Tensor bilinear(const Tensor& left, const Tensor& right, const Tensor& weight, const Tensor& bias) {
  return guarded([&] { return give(at::bilinear(In(left), In(right), In(weight), optional_aten(bias))); });
}

Tensor embedding(const Tensor& index, const Tensor& weight) {
  return guarded([&] {
    return in_range(In(index), In(weight)->size(0), {}, "id", false,
                    [&] { return give(at::embedding(In(weight), In(index))); });
  });
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, const Ints& padding,
              int64_t dilation, int64_t groups) {
  return guarded([&] {
    const Padding around = padding_of(padding);
    return give(at::conv1d(padded(Narrow(x), around), Narrow(weight), Narrow(bias).optional(), stride, around.both,
                           dilation, groups));
  });
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Ints& stride, const Ints& padding,
              const Ints& dilation, int64_t groups) {
  return guarded([&] {
    const Padding around = padding_of(padding);
    return give(at::conv2d(padded(Narrow(x), around), Narrow(weight), Narrow(bias).optional(), stride, around.both,
                           dilation, groups));
  });
}

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Ints& stride, const Ints& padding,
              const Ints& dilation, int64_t groups) {
  return guarded([&] {
    const Padding around = padding_of(padding);
    return give(at::conv3d(padded(Narrow(x), around), Narrow(weight), Narrow(bias).optional(), stride, around.both,
                           dilation, groups));
  });
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t stride, int64_t padding,
                        int64_t output_padding, int64_t groups, int64_t dilation) {
  return guarded([&] {
    return give(at::conv_transpose1d(Narrow(x), Narrow(weight), Narrow(bias).optional(), stride, padding,
                                     output_padding, groups, dilation));
  });
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Ints& stride,
                        const Ints& padding, const Ints& output_padding, int64_t groups, const Ints& dilation) {
  return guarded([&] {
    return give(at::conv_transpose2d(Narrow(x), Narrow(weight), Narrow(bias).optional(), stride, padding,
                                     output_padding, groups, dilation));
  });
}

Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Ints& stride,
                        const Ints& padding, const Ints& output_padding, int64_t groups, const Ints& dilation) {
  return guarded([&] {
    return give(at::conv_transpose3d(Narrow(x), Narrow(weight), Narrow(bias).optional(), stride, padding,
                                     output_padding, groups, dilation));
  });
}

Tensor pixel_shuffle(const Tensor& x, int64_t factor) {
  return guarded([&] { return give(at::pixel_shuffle(In(x), factor)); });
}

}  // namespace ltr
