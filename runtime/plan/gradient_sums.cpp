#include "runtime/plan/gradient_sums.h"

#include <ATen/ATen.h>

#include <cstring>

#include "runtime/plan/copies.h"
#include "runtime/tensor/parallel.h"

namespace ltr::plan {

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements that are worth a thread: some ten microseconds

/// Whether their elements lie in the same order, one behind the other.
bool lie_alike(const at::Tensor& a, const at::Tensor& b) {
  return a.layout() == at::kStrided && b.layout() == at::kStrided && a.is_cpu() && b.is_cpu() &&
         a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.is_non_overlapping_and_dense();
}

}  // namespace

at::Tensor GradientSums::begin(size_t weight, const at::Tensor& gradient) {
  if (made_.size() <= weight) made_.resize(weight + 1);
  at::Tensor& made = made_[weight];
  if (!made.defined() || !is_free(made) || !lie_alike(made, gradient)) return made = gradient.clone();
  auto* const to = static_cast<char*>(made.mutable_data_ptr());
  const auto* const from = static_cast<const char*>(gradient.const_data_ptr());
  parallel_for(0, int64_t(gradient.nbytes()), 4 * kGrain,
               [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, size_t(end - begin)); });
  return made;
}

void add_gradient(at::Tensor& sum, const at::Tensor& gradient) {
  if (!lie_alike(sum, gradient) || sum.scalar_type() != at::kFloat) {
    sum.add_(gradient);
    return;
  }
  auto* const to = sum.mutable_data_ptr<float>();
  const auto* const from = gradient.const_data_ptr<float>();
  parallel_for(0, sum.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
  sum.unsafeGetTensorImpl()->bump_version();
}

}  // namespace ltr::plan
