#pragma once

// The policy type and which ops compute narrow (runtime.md 2.7). The table is PyTorch's autocast table for CUDA, used
// on all devices: products go through `narrow`, sums, losses, norms and exponentials through `wide`, the others follow
// their widest input.

#include <ATen/core/Tensor.h>

#include <unordered_map>

#include "ltr/api.h"
#include "runtime/tables/precisions.h"

namespace ltr {

struct Precision {
  at::ScalarType policy = at::kFloat;   ///< of weights, of `float` in the program
  at::ScalarType compute = at::kFloat;  ///< of matmul-like ops
  bool narrows = false;                 ///< `compute` is narrower than `policy`
  bool scales = false;                  ///< gradients need a loss scale: `compute` has few exponents
};

/// `f64 f32 tf32 bf16 f16 bf16_pure` of `topology.precision`; R2008 for what this device cannot do. Before the model is built.
void set_precision(const Str& name);
/// That of the run, in this thread.
const Precision& precision();
/// The policy type in this thread.
at::ScalarType policy_type();

/// The policy type of this thread is `type` while it lives: metrics compute in f64.
class PolicyScope {
 public:
  explicit PolicyScope(at::ScalarType type);
  ~PolicyScope();
  PolicyScope(const PolicyScope&) = delete;
  PolicyScope& operator=(const PolicyScope&) = delete;

 private:
  at::ScalarType before_;
};

/// Nothing narrows in this thread while it lives, if `is_on`: a step is recorded as it would be in its policy type, and what narrows is its plan's.
class WideScope {
 public:
  explicit WideScope(bool is_on);
  ~WideScope();
  WideScope(const WideScope&) = delete;
  WideScope& operator=(const WideScope&) = delete;

 private:
  bool before_;
};

at::Tensor cast_narrow(const at::Tensor& x);
/// `x` for a matmul-like op. A cast weight is kept until `forget_casts`.
inline at::Tensor narrow(const at::Tensor& x) { return precision().narrows && x.defined() ? cast_narrow(x) : x; }
/// `x` for an op that sums or exponentiates.
inline at::Tensor wide(const at::Tensor& x) {
  return precision().narrows && x.defined() && x.scalar_type() == precision().compute ? x.to(precision().policy) : x;
}
/// Weights changed, or a new step begins.
void forget_casts();

/// The casts that this thread kept when it was made.
class CastsThen {
 public:
  CastsThen();
  /// Those that were made since are forgotten.
  void put_back();

 private:
  std::unordered_map<c10::TensorImpl*, at::Tensor> casts_;
};

}  // namespace ltr
