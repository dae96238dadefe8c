#pragma once

// The one gate for numbers that are not finite (runtime.md 2.8): every loss and every norm of gradients passes it, and
// no update happens that it did not let through. Weights pass it before they are kept.

#include <ATen/core/Tensor.h>

#include "runtime/api/error.h"
#include "runtime/checkpoint/archive.h"
#include "runtime/train/trainer.h"

namespace ltr {

class FiniteGate {
 public:
  /// `step` counts updates, for messages.
  FiniteGate(const RunRequest& request, const int64_t& global_step) : request_(request), step_(global_step) {}

  bool is_finite(const at::Tensor& loss) const;
  static Str shown(const at::Tensor& loss);
  static Str shown(double value);
  /// The same for a loss that was another rank's, which has more to say of it.
  void refuse_loss_elsewhere(Option<int64_t> step = {});
  /// A loss is not finite, so there is no update: counted with `skip`, R4001 otherwise. `step` is the one it was, none:
  /// the one under way.
  void refuse_loss(const Location& location, const Str& value, Option<int64_t> step = {});
  /// The same of a gradient, R4002.
  void refuse_update(const Str& optimizer, Option<int64_t> step = {});
  /// Whether an update may happen; `norm` is of all gradients of `optimizer`. `stop` and `raise`: R4002 if not.
  bool lets_update(const Str& optimizer, double norm);
  /// R4004 for a weight of an optimizer that is not finite: it came by an update whose gradients were not looked at.
  void check_weights() const;
  /// An update happened: those that were skipped are not in a row any more.
  void passed() { skipped_in_row_ = 0; }

  int64_t skipped() const { return skipped_; }
  void visit(Archive& archive);

 private:
  void refuse(const Fault& fault, const Str& what, Option<int64_t> step);

  const RunRequest& request_;
  const int64_t& step_;
  int64_t skipped_ = 0;  ///< updates in all that were dropped
  int64_t skipped_in_row_ = 0;
};

}  // namespace ltr
