#include "runtime/optim/elements.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <numeric>

#include "runtime/tensor/parallel.h"
#include "runtime/tensor/sparse.h"

// MKL's square roots, which LibTorch holds where it is built with MKL, and takes its own from.
extern "C" __attribute__((weak)) void vmsSqrt(int count, const float* from, float* to, long long mode);
extern "C" __attribute__((weak)) int MKL_Set_Num_Threads_Local(int count);

namespace ltr::optim {

namespace {

bool is_plain(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && tensor.is_cpu() && tensor.scalar_type() == at::kFloat &&
         tensor.is_contiguous();
}

using PartOf = c10::function_ref<void(size_t i, int64_t begin, int64_t end)>;

int64_t count_of(const TensorVec& list) {
  int64_t count = 0;
  for (const at::Tensor& tensor : list) count += tensor.numel();
  return count;
}

/// What of each tensor lies in [begin, end) of the elements of all, one tensor behind the other.
void each_part(const TensorVec& list, int64_t begin, int64_t end, PartOf part) {
  int64_t first = 0;
  for (size_t i = 0; i < list.size() && first < end; first += list[i++].numel()) {
    const int64_t from = std::max(begin - first, int64_t(0)), to = std::min(end - first, list[i].numel());
    if (from < to) part(i, from, to);
  }
}

/// `part` for parts of the tensors, on all threads where their elements are many.
void for_parts(const TensorVec& list, PartOf part) {
  parallel_for(0, count_of(list), kGrain, [&](int64_t begin, int64_t end) { each_part(list, begin, end, part); });
}

Elements elements_of(const Update& update, size_t i) {
  const at::Tensor& weight = update.weights[i];
  Elements all{.weight = weight.mutable_data_ptr<float>(),
               .grad = update.grads[i].const_data_ptr<float>(),
               .count = weight.numel()};
  for (size_t k = 0; k < update.state.size(); k++) {
    const at::Tensor& state = update.state[k][i];
    if (state.sizes() == weight.sizes()) all.state[k] = state.mutable_data_ptr<float>();
  }
  return all;
}

/// As any op in place would: a graph that saved the weight must notice.
void tell_changed(const at::Tensor& weight) { weight.unsafeGetTensorImpl()->bump_version(); }

/// `move` for each row of table `i` that has a gradient.
bool rows_by_kernel(const Update& update, size_t i,
                    c10::function_ref<void(const ElementKernels&, const Elements&)> move) {
  const at::Tensor& table = update.weights[i];
  const at::SparseTensorImpl& rows = rows_of(update.grads[i]);
  // Rows that are there twice are no work for two threads.
  const bool fits = element_kernels() != nullptr && rows.coalesced() && rows.sparse_dim() == 1 && is_plain(table) &&
                    is_plain(rows.values()) && rows.indices().is_contiguous() &&
                    std::ranges::all_of(update.state, [&](const TensorVec& list) {
                      return list[i].sizes() == table.sizes() && is_plain(list[i]);
                    });
  if (!fits) return false;
  const int64_t width = table.numel() / std::max<int64_t>(table.size(0), 1);
  Elements whole{.weight = table.mutable_data_ptr<float>(), .count = width};
  for (size_t k = 0; k < update.state.size(); k++) whole.state[k] = update.state[k][i].mutable_data_ptr<float>();
  const auto* const numbers = rows.indices().const_data_ptr<int64_t>();
  const auto* const gradients = rows.values().const_data_ptr<float>();
  parallel_for(0, rows.nnz(), std::max<int64_t>(1, kGrain / std::max<int64_t>(width, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t at = begin; at < end; ++at) {
                   Elements row = whole;
                   row.weight += numbers[at] * width;
                   row.grad = gradients + at * width;
                   for (size_t k = 0; k < update.state.size(); k++) row.state[k] += numbers[at] * width;
                   move(*element_kernels(), row);
                 }
               });
  tell_changed(table);
  return true;
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
  if (update.grads[i].is_sparse()) return rows_by_kernel(update, i, move);
  if (!fits_kernel(update, i)) return false;
  const Elements all = elements_of(update, i);
  parallel_for(0, all.count, kGrain,
               [&](int64_t begin, int64_t end) { move(*element_kernels(), all.part(begin, end - begin)); });
  tell_changed(update.weights[i]);
  return true;
}

bool by_kernel(const Update& update, c10::function_ref<void(const ElementKernels&, size_t, const Elements&)> move) {
  if (!fits_kernel(update)) return false;
  for_parts(update.weights, [&](size_t i, int64_t begin, int64_t end) {
    move(*element_kernels(), i, elements_of(update, i).part(begin, end - begin));
  });
  for (const at::Tensor& weight : update.weights) tell_changed(weight);
  return true;
}

Sums sums_by_kernel(const Update& update, size_t i,
                    c10::function_ref<Sums(const ElementKernels&, const Elements&)> part) {
  constexpr int64_t kMostPieces = 64, kPiece = 4096;
  const Elements all = elements_of(update, i);
  const int64_t pieces = std::clamp<int64_t>(all.count / kPiece, 1, kMostPieces);
  std::array<Sums, kMostPieces> found;
  parallel_for(0, pieces, std::max<int64_t>(1, pieces * kGrain / std::max<int64_t>(1, all.count)),
               [&](int64_t first, int64_t last) {
                 for (int64_t piece = first; piece < last; ++piece) {
                   const int64_t begin = all.count * piece / pieces, end = all.count * (piece + 1) / pieces;
                   found[size_t(piece)] = part(*element_kernels(), all.part(begin, end - begin));
                 }
               });
  Sums sums{};
  for (int64_t piece = 0; piece < pieces; ++piece) {
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += found[size_t(piece)][k];
  }
  return sums;
}

double squares_by_kernel(const float* values, int64_t count) {
  constexpr int64_t kBlock = 4096;
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock)
    sum += element_kernels()->squares(values + begin, std::min(kBlock, count - begin));
  return sum;
}

Option<double> norm_by_kernel(const TensorVec& list) {
  if (element_kernels() == nullptr || !std::ranges::all_of(list, is_plain)) return {};
  // Pieces that no number of threads changes, each summed in f32 by blocks.
  constexpr int64_t kPieces = 64;
  std::array<double, kPieces> sums{};
  const int64_t count = count_of(list);
  parallel_for(0, kPieces, std::max<int64_t>(1, kPieces * kGrain / std::max<int64_t>(1, count)),
               [&](int64_t first, int64_t last) {
                 for (int64_t piece = first; piece < last; ++piece) {
                   double& sum = sums[size_t(piece)];
                   each_part(list, count * piece / kPieces, count * (piece + 1) / kPieces,
                             [&](size_t i, int64_t begin, int64_t end) {
                               sum += squares_by_kernel(list[i].const_data_ptr<float>() + begin, end - begin);
                             });
                 }
               });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

bool scale_by_kernel(const TensorVec& list, float factor) {
  if (element_kernels() == nullptr || !std::ranges::all_of(list, is_plain)) return false;
  for_parts(list, [&](size_t i, int64_t begin, int64_t end) {
    element_kernels()->scale(list[i].mutable_data_ptr<float>() + begin, factor, end - begin);
  });
  for (const at::Tensor& tensor : list) tell_changed(tensor);
  return true;
}

bool lerp_by_kernel(const at::Tensor& x, const at::Tensor& to, float part) {
  if (element_kernels() == nullptr || !is_plain(x) || !is_plain(to) || x.sizes() != to.sizes()) return false;
  parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    element_kernels()->go_towards(x.mutable_data_ptr<float>() + begin, to.const_data_ptr<float>() + begin, part,
                                  end - begin);
  });
  tell_changed(x);
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

void by_roots(const Elements& elements, int64_t roots, c10::function_ref<void(const Elements&, float*)> before,
              c10::function_ref<void(const Elements&, float*)> after) {
  std::array<float, 4096> values;
  const int64_t piece = int64_t(values.size()) / roots;
  for (int64_t begin = 0; begin < elements.count; begin += piece) {
    const Elements some = elements.part(begin, std::min(piece, elements.count - begin));
    before(some, values.data());
    square_roots(values.data(), roots * some.count);
    after(some, values.data());
  }
}

void square_roots(float* values, int64_t count) {
  // VML_HA | VML_FTZDAZ_OFF | VML_ERRMODE_IGNORE, as LibTorch asks for them.
  constexpr long long kMode = 0x2 | 0x140000 | 0x100;
  if (vmsSqrt == nullptr || MKL_Set_Num_Threads_Local == nullptr || count > INT_MAX) {
    at::from_blob(values, {count}, at::kFloat).sqrt_();
    return;
  }
  // Who calls is one of the threads that share the work.
  const int before = MKL_Set_Num_Threads_Local(1);
  vmsSqrt(int(count), values, values, kMode);
  MKL_Set_Num_Threads_Local(before);
}

}  // namespace ltr::optim
