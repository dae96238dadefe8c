#include <ATen/ATen.h>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"

namespace ltr {

Tensor max_pool1d(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding) {
  return guarded([&] { return give(at::max_pool1d(In(x), kernel, stride, padding)); });
}

Tensor max_pool2d(const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding) {
  return guarded([&] { return give(at::max_pool2d(In(x), kernel, stride, padding)); });
}

Tensor avg_pool1d(const Tensor& x, int64_t kernel, int64_t stride, int64_t padding) {
  return guarded([&] { return give(at::avg_pool1d(In(x), kernel, stride, padding)); });
}

Tensor avg_pool2d(const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& padding) {
  return guarded([&] { return give(at::avg_pool2d(In(x), kernel, stride, padding)); });
}

Tensor adaptive_avg_pool1d(const Tensor& x, int64_t size) {
  return guarded([&] { return give(at::adaptive_avg_pool1d(In(x), size)); });
}

Tensor adaptive_avg_pool2d(const Tensor& x, const Ints& size) {
  return guarded([&] { return give(at::adaptive_avg_pool2d(In(x), size)); });
}

}  // namespace ltr
