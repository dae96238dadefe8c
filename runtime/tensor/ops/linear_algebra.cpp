#include <ATen/ATen.h>

#include <limits>

#include "ltr/ops.h"
#include "runtime/tensor/exact.h"

namespace ltr {

using Matrix = const at::Tensor&;

Tensor inv(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_inv(m); }, x);
}

Tensor solve(const Tensor& a, const Tensor& b) {
  return exactly([](Matrix m, Matrix right) { return at::linalg_solve(m, right); }, a, b);
}

Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper) {
  return exactly([&](Matrix m, Matrix right) { return at::linalg_solve_triangular(m, right, upper); }, a, b);
}

Tensor lstsq(const Tensor& a, const Tensor& b) {
  return exactly([](Matrix m, Matrix right) { return std::get<0>(at::linalg_lstsq(m, right)); }, a, b);
}

Tensor det(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_det(m); }, x);
}

std::tuple<Tensor, Tensor> slogdet(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_slogdet(m); }, x);
}

Tensor cholesky(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_cholesky(m); }, x);
}

std::tuple<Tensor, Tensor> qr(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_qr(m); }, x);
}

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_svd(m, /*full_matrices=*/false); }, x);
}

Tensor svdvals(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_svdvals(m); }, x);
}

std::tuple<Tensor, Tensor> eigh(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_eigh(m); }, x);
}

Tensor eigvalsh(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_eigvalsh(m); }, x);
}

Tensor pinv(const Tensor& x, Option<double> rcond) {
  return exactly([&](Matrix m) { return at::linalg_pinv(m, std::nullopt, rcond); }, x);
}

Tensor matrix_exp(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_matrix_exp(m); }, x);
}

Tensor matrix_norm(const Tensor& x, const Str& kind) {
  return exactly(
      [&](Matrix m) {
        if (kind == "fro" || kind == "nuc") return at::linalg_matrix_norm(m, kind);
        const double order = kind == "spectral" ? 2 : kind == "columns" ? 1 : std::numeric_limits<double>::infinity();
        return at::linalg_matrix_norm(m, order);
      },
      x);
}

}  // namespace ltr
