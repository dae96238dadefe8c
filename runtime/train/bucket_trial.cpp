#include "runtime/train/bucket_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/tensor/handle.h"

namespace ltr {

bool BucketTrial::took(double seconds, const Ranks& ranks) {
  seconds_.push_back(seconds);
  if (seconds_.size() < kWindows) return false;
  const auto middle = seconds_.begin() + kWindows / 2;
  std::nth_element(seconds_.begin() + 1, middle, seconds_.end());
  double median = *middle;
  ranks.most({&median, 1});
  medians_.push_back(median);
  seconds_.clear();
  const size_t next =
      is_over() ? size_t(std::min_element(medians_.begin(), medians_.end()) - medians_.begin()) : medians_.size();
  return std::exchange(size_, kSizes[next]) != kSizes[next];
}

Str BucketTrial::found() const {
  Str text = fmt::format("bucket = auto: {} MiB from here on;", size_ >> 20);
  for (size_t i = 0; i < medians_.size(); i++)
    text += fmt::format("{} {:.1f} ms with {} MiB", i == 0 ? "" : ",", medians_[i] * 1e3, kSizes[i] >> 20);
  return text;
}

Option<Str> settle_buckets(const RootState& root, GradientTravel& travel) {
  constexpr int64_t kSmallest = BucketTrial::kSizes.front();
  for (const auto& optimizer : root.optimizers) {
    int64_t bytes = 0;
    for (const Weight& weight : optimizer->weights())
      bytes += In(weight.tensor)->requires_grad() ? int64_t(In(weight.tensor)->nbytes()) : 0;
    if (bytes > kSmallest) return std::nullopt;
  }
  travel.bucket_bytes = kSmallest;
  return fmt::format(
      "bucket = auto: all gradients of an optimizer fit into {} MiB, so they leave together whatever the size, and "
      "none is tried",
      kSmallest >> 20);
}

}  // namespace ltr
