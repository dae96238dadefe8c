#include "runtime/plan/cpu/without_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/tensor/dtype.h"

namespace ltr::plan {

namespace {

constexpr Op kWithoutKernel[] = {
    // LibTorch's: linear algebra, Fourier transforms, what ranks and compares, images at places of their own.
    Op::fft, Op::ifft, Op::rfft, Op::irfft, Op::fft2, Op::ifft2, Op::inv, Op::solve, Op::solve_triangular, Op::lstsq,
    Op::det, Op::slogdet, Op::cholesky, Op::qr, Op::svd, Op::svdvals, Op::eigh, Op::eigvalsh, Op::pinv, Op::matrix_exp,
    Op::matrix_norm, Op::unique, Op::ranks, Op::score_curve, Op::edit_distances, Op::grid_sample,
    // Steps that take gradients inside of them, or grow a state, are not planned; `or_else` gives one of what it is given.
    Op::grad, Op::append, Op::or_else,
    // Autograd's gradients, where no rule has them.
    Op::loss_gradients,
    // Plans make it of evaluations: `cpu_plan_test` has its cases.
    Op::fold_norm};

}  // namespace

bool is_without_kernel(Op op) { return std::ranges::find(kWithoutKernel, op) != std::end(kWithoutKernel); }

Str why_no_kernel(const Graph& graph, const Node& node) {
  if (is_without_kernel(node.op)) return "no kernel computes it";
  Str why = "its kernel does not take it so";
  each_read(node, [&](ValueId id) {
    const Value& value = graph.values[id];
    if (std::ranges::find(value.sizes, 0) != value.sizes.end()) why = "of no elements";
    if (value.dtype == DType::F64)
      why = fmt::format("kernels are for {}, not {}", to_text(DType::F32), to_text(DType::F64));
  });
  return why;
}

}  // namespace ltr::plan
