#include "runtime/plan/copies.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace ltr::plan {

namespace {

/// Elements of what is small, and how many of them wait for a next use.
constexpr int64_t kSmall = 64;
constexpr size_t kMost = 16;

}  // namespace

bool is_free(const at::Tensor& tensor) { return tensor.use_count() == 1 && tensor.storage().use_count() == 1; }

at::Tensor Copies::of(size_t name, const at::Tensor& value) {
  if (value.numel() > kSmall || !value.is_contiguous()) return value.clone();
  if (made_.size() <= name) made_.resize(name + 1);
  std::vector<at::Tensor>& made = made_[name];
  const auto free = std::ranges::find_if(made, is_free);
  if (free == made.end()) {
    at::Tensor copy = value.clone();
    if (made.size() < kMost) made.push_back(copy);
    return copy;
  }
  std::memcpy(free->mutable_data_ptr(), value.const_data_ptr(), value.nbytes());
  return *free;
}

}  // namespace ltr::plan
