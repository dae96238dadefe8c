#include "runtime/train/bucket_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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
  const size_t next = is_over() ? size_t(std::min_element(medians_.begin(), medians_.end()) - medians_.begin()) : medians_.size();
  return std::exchange(size_, kSizes[next]) != kSizes[next];
}

Str BucketTrial::found() const {
  Str text = fmt::format("bucket = auto: {} MiB from here on;", size_ >> 20);
  for (size_t i = 0; i < medians_.size(); i++)
    text += fmt::format("{} {:.1f} ms with {} MiB", i == 0 ? "" : ",", medians_[i] * 1e3, kSizes[i] >> 20);
  return text;
}

}  // namespace ltr
