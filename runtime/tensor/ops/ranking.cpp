#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Ends of the runs of equal elements in a sorted line.
at::Tensor run_ends(const at::Tensor& sorted) {
  const int64_t size = sorted.numel();
  if (size == 0) return at::empty({0}, sorted.options().dtype(at::kLong));
  const at::Tensor changes = at::nonzero(sorted.slice(0, 1) != sorted.slice(0, 0, size - 1)).squeeze(1);
  return at::cat({changes, at::full({1}, size - 1, changes.options())});
}

/// The elements of a row up to `end`.
std::vector<int64_t> words(const at::Tensor& row, int64_t end) {
  const auto* first = row.const_data_ptr<int64_t>();
  return {first, std::find(first, first + row.numel(), end)};
}

int64_t edits(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> costs(b.size() + 1);
  for (size_t j = 0; j < costs.size(); j++) costs[j] = int64_t(j);
  for (size_t i = 1; i <= a.size(); i++) {
    int64_t diagonal = costs[0];
    costs[0] = int64_t(i);
    for (size_t j = 1; j <= b.size(); j++) {
      const int64_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = costs[j];
      costs[j] = std::min({replaced, costs[j] + 1, costs[j - 1] + 1});
    }
  }
  return costs.back();
}

}  // namespace

Tensor ranks(const Tensor& x) {
  return guarded([&] {
    const auto [sorted, order] = at::sort(In(x), /*stable=*/true, 0, false);
    const at::Tensor ends = run_ends(sorted);
    const at::Tensor lengths = at::diff(ends, 1, 0, at::full({1}, -1, ends.options()));
    // A run that ends at place e and is n long holds the ranks e - n + 2 … e + 1.
    const at::Tensor shared = ends.to(at::kDouble) + 1 - (lengths.to(at::kDouble) - 1) / 2;
    return give(at::empty_like(sorted, at::kDouble).index_put_({order}, at::repeat_interleave(shared, lengths)));
  });
}

std::tuple<Tensor, Tensor, Tensor> score_curve(const Tensor& scores, const Tensor& label) {
  return guarded([&] {
    const auto [sorted, order] = at::sort(In(scores), /*stable=*/true, 0, true);
    const at::Tensor ends = run_ends(sorted);
    const at::Tensor positives = at::cumsum(In(label)->index({order}), 0).index({ends});
    return std::tuple(give(sorted.index({ends})), give(positives), give(ends + 1 - positives));
  });
}

Tensor edit_distances(const Tensor& a, const Tensor& b, int64_t end) {
  return guarded([&] {
    const at::Tensor left = In(a)->cpu().contiguous(), right = In(b)->cpu().contiguous();
    at::Tensor counts = at::empty({left.size(0)}, at::kLong);
    for (int64_t i = 0; i < left.size(0); i++) {
      counts.mutable_data_ptr<int64_t>()[i] = edits(words(left[i], end), words(right[i], end));
    }
    return give(counts.to(In(a)->device()));
  });
}

}  // namespace ltr
