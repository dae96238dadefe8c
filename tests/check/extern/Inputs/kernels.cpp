#include "kernels.ltr.h"

ltr::Tensor twice(const ltr::Tensor& x) { return x * 2; }

ltr::Tensor scaled(const ltr::Tensor& x, int64_t factor) { return x * factor; }

static ltr::Tensor hidden(const ltr::Tensor& x) { return x; }

namespace kernels {
ltr::Tensor nested(const ltr::Tensor& x) { return hidden(x); }
}  // namespace kernels

double total(const ltr::Tensor& x) { return ltr::sum(x, {}, false).item(); }

ltr::Tensor twice_grad(const ltr::Tensor& x, const ltr::Tensor& output, const ltr::Tensor& gradient) {
  return gradient * 2;
}

ltr::Tensor short_grad(const ltr::Tensor& gradient) { return gradient; }

double number_grad(const ltr::Tensor& x, const ltr::Tensor& output, const ltr::Tensor& gradient) { return 0; }
