#include "runtime/train/unit.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace ltr {

namespace {

/// Weights begin where a cache line may: 16 numbers are one, or some.
constexpr int64_t kAlign = 16;

int64_t aligned(int64_t count) { return (count + kAlign - 1) / kAlign * kAlign; }

}  // namespace

Unit::Unit(std::vector<at::Tensor> weights, bool keeps_whole, int64_t ranks)
    : weights_(std::move(weights)), begins_(weights_.size()), ranks_(ranks) {
  keeps_whole ? lay_uncut() : lay_in_order();
}

void Unit::lay_in_order() {
  int64_t end = 0;
  for (size_t i = 0; i < weights_.size(); i++) {
    begins_[i] = end;
    end += aligned(weights_[i].numel());
  }
  chunk_ = aligned((end + ranks_ - 1) / ranks_);
}

/// The largest first, each to the rank that has least.
void Unit::lay_uncut() {
  std::vector<size_t> order(weights_.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return weights_[a].numel() > weights_[b].numel(); });
  std::vector<int64_t> loads(size_t(ranks_), 0);
  std::vector<size_t> ranks(weights_.size());
  for (const size_t i : order) {
    ranks[i] = size_t(std::min_element(loads.begin(), loads.end()) - loads.begin());
    begins_[i] = loads[ranks[i]];
    loads[ranks[i]] += aligned(weights_[i].numel());
  }
  chunk_ = *std::max_element(loads.begin(), loads.end());
  for (size_t i = 0; i < begins_.size(); i++) begins_[i] += int64_t(ranks[i]) * chunk_;
}

at::TensorOptions Unit::options() const { return weights_.front().options().requires_grad(false); }

Stretch Unit::stretch(size_t member, int64_t rank) const {
  const int64_t begin = begins_[member], count = weights_[member].numel();
  const auto within = [&](int64_t place) { return std::clamp<int64_t>(place - begin, 0, count); };
  return {within(rank * chunk_), within((rank + 1) * chunk_)};
}

at::Tensor Unit::in_row(const at::Tensor& whole, size_t member) const {
  return whole.narrow(0, begins_[member], weights_[member].numel()).view(weights_[member].sizes());
}

at::Tensor Unit::in_chunk(const at::Tensor& chunk, size_t member, int64_t rank) const {
  const Stretch own = stretch(member, rank);
  if (own.size() == 0) return {};
  const at::Tensor part = chunk.narrow(0, begins_[member] + own.begin - rank * chunk_, own.size());
  return own.size() == weights_[member].numel() ? part.view(weights_[member].sizes()) : part;
}

}  // namespace ltr
