#pragma once

// Running values of batch norms as plain means, for weights that were not trained by themselves (runtime.md 2.9).

#include <ATen/core/Tensor.h>

#include <unordered_map>
#include <vector>

namespace ltr {

/// While it lives, batch norms that train on this thread give each batch the same part of their running values, from the first that they
/// see on; what they had before is forgotten.
class NormMeans {
 public:
  NormMeans();
  ~NormMeans();
  NormMeans(const NormMeans&) = delete;
  NormMeans& operator=(const NormMeans&) = delete;
  /// Of this thread; null if there is none.
  static NormMeans* here();

  /// What the next batch counts in `mean` and `var`, of a norm whose `seen` counts batches. All three may be undefined.
  double part(const at::Tensor& mean, const at::Tensor& var, const at::Tensor& seen);
  /// Those that took something in.
  const std::vector<at::Tensor>& buffers() const { return buffers_; }

 private:
  NormMeans* before_;
  std::unordered_map<const void*, double> batches_;  ///< so far, by running mean
  std::vector<at::Tensor> buffers_;
};

}  // namespace ltr
