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
  return guarded([&] {
    Exact exact;
    const auto [sign, logarithm] = at::linalg_slogdet(exact(x));
    return std::tuple(exact.back(sign), exact.back(logarithm));
  });
}

Tensor cholesky(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_cholesky(m); }, x);
}

std::tuple<Tensor, Tensor> qr(const Tensor& x) {
  return guarded([&] {
    Exact exact;
    const auto [q, r] = at::linalg_qr(exact(x));
    return std::tuple(exact.back(q), exact.back(r));
  });
}

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& x) {
  return guarded([&] {
    Exact exact;
    const auto [u, s, v] = at::linalg_svd(exact(x), /*full_matrices=*/false);
    return std::tuple(exact.back(u), exact.back(s), exact.back(v));
  });
}

Tensor svdvals(const Tensor& x) {
  return exactly([](Matrix m) { return at::linalg_svdvals(m); }, x);
}

std::tuple<Tensor, Tensor> eigh(const Tensor& x) {
  return guarded([&] {
    Exact exact;
    const auto [values, vectors] = at::linalg_eigh(exact(x));
    return std::tuple(exact.back(values), exact.back(vectors));
  });
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
