#include "more.ltr.h"

ltr::Tensor thrice(const ltr::Tensor& x) { return x * 3; }

ltr::Tensor twice_grad(const ltr::Tensor& x, const ltr::Tensor& output, const ltr::Tensor& gradient) {
  return gradient * 3;
}
