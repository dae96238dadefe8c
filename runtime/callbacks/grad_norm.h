#pragma once

#include "runtime/optim/optimizer.h"
#include "runtime/train/log_table.h"

namespace ltr {

/// The callback `GradNorm`: norms of the gradients before clipping, of all weights of an optimizer together, of each
/// block, or of each weight. Names are `grad_norm/OPT`, `grad_norm/OPT/PATH` with the path in the model, where the model's own
/// weights are the block `model`; with another p than 2 `grad_norm_1/OPT`.
class GradNorm {
 public:
  explicit GradNorm(const Value& call);
  /// The names of what `measure` gives, in order.
  std::vector<Str> names(const Optimizer& optimizer) const;
  void measure(const Optimizer& optimizer, Named& values) const;
  /// Whether clipping by norm gives the same value under the same name.
  bool is_total() const { return per_ == "total" && p_ == 2; }

 private:
  /// The name of the norm that `weight` is a part of.
  Str name_of(const Optimizer& optimizer, const Weight& weight) const;
  Str per_;
  double p_;
};

}  // namespace ltr
