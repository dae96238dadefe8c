#include "runtime/optim/elements.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "runtime/tensor/parallel.h"

namespace ltr::optim {

namespace {

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

}  // namespace

bool fits_kernel(const Update& update, size_t i) {
  const at::Tensor& weight = update.weights[i];
  return element_kernels() != nullptr && is_plain(weight) && is_plain(update.grads[i]) &&
         std::ranges::all_of(update.state, [&](const TensorVec& list) {
           return list[i].sizes() != weight.sizes() || is_plain(list[i]);
         });
}

bool fits_kernel(const Update& update) {
  for (size_t i = 0; i < update.weights.size(); i++) {
    if (!fits_kernel(update, i)) return false;
  }
  return true;
}

bool by_kernel(const Update& update, size_t i, c10::function_ref<void(const ElementKernels&, const Elements&)> move) {
  if (!fits_kernel(update, i)) return false;
  const at::Tensor& weight = update.weights[i];
  Elements all{.weight = weight.mutable_data_ptr<float>(),
               .grad = update.grads[i].const_data_ptr<float>(),
               .count = weight.numel()};
  for (size_t k = 0; k < update.state.size(); k++) {
    const at::Tensor& state = update.state[k][i];
    if (state.sizes() == weight.sizes()) all.state[k] = state.mutable_data_ptr<float>();
  }
  constexpr int64_t kGrain = 1 << 15;  // some ten microseconds
  parallel_for(0, all.count, kGrain,
               [&](int64_t begin, int64_t end) { move(*element_kernels(), all.part(begin, end - begin)); });
  // As any op in place would: a graph that saved the weight must notice.
  weight.unsafeGetTensorImpl()->bump_version();
  return true;
}

void by_pieces(const Update& update, size_t i,
               c10::function_ref<void(at::Tensor weight, const at::Tensor& grad, TensorVec& state)> move) {
  std::vector<at::Tensor> all{update.weights[i], update.grads[i]};
  for (const TensorVec& list : update.state) all.push_back(list[i]);
  const auto apply = [&](std::vector<at::Tensor> some) {
    TensorVec state(some.begin() + 2, some.end());
    move(std::move(some[0]), some[1], state);
  };
  const bool is_plain = std::ranges::all_of(
      all, [&](const at::Tensor& one) { return one.is_cpu() && one.is_contiguous() && one.sizes() == all[0].sizes(); });
  constexpr int64_t kPiece = 1 << 13;  // 32 KiB, which malloc does not ask the system for
  const int64_t count = all[0].numel();
  if (!is_plain || count <= kPiece) return apply(all);
  for (at::Tensor& one : all) one = one.view({count});
  parallel_for(0, (count + kPiece - 1) / kPiece, 1, [&](int64_t begin, int64_t end) {
    const c10::AutoGradMode no_grad(false);
    for (int64_t piece = begin; piece < end; ++piece) {
      std::vector<at::Tensor> some;
      for (const at::Tensor& one : all)
        some.push_back(one.narrow(0, piece * kPiece, std::min(kPiece, count - piece * kPiece)));
      apply(std::move(some));
    }
  });
}

}  // namespace ltr::optim
