#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"

namespace ltr {

Tensor max_pool1d(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  return guarded([&] { return give(at::max_pool1d(In(x), kernel, stride, padding, dilation, ceil_mode)); });
}

Tensor max_pool2d(const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding, const Ints& dilation,
                  bool ceil_mode) {
  return guarded([&] { return give(at::max_pool2d(In(x), kernel, stride, padding, dilation, ceil_mode)); });
}

Tensor avg_pool1d(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding, bool count_include_pad,
                  bool ceil_mode) {
  return guarded([&] { return give(at::avg_pool1d(In(x), kernel, stride, padding, ceil_mode, count_include_pad)); });
}

Tensor avg_pool2d(const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding, bool count_include_pad,
                  bool ceil_mode) {
  return guarded([&] { return give(at::avg_pool2d(In(x), kernel, stride, padding, ceil_mode, count_include_pad)); });
}

Tensor adaptive_avg_pool1d(const Tensor& x, int64_t size) {
  return guarded([&] { return give(at::adaptive_avg_pool1d(In(x), size)); });
}

Tensor adaptive_avg_pool2d(const Tensor& x, const Ints& size) {
  return guarded([&] { return give(at::adaptive_avg_pool2d(In(x), size)); });
}

}  // namespace ltr
