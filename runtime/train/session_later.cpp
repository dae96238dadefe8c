#include <ATen/ATen.h>

#include <cmath>

#include "ltr/operators.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/division.h"
#include "runtime/train/root_state.h"
#include "runtime/train/session.h"

// An update on a device whose numbers come later. The same moments as in session.cpp, but the host reads nothing: norms,
// clipping and the gate stay on the device, and the update itself looks whether it may happen.

namespace ltr {

at::Tensor Session::unscale(const Optimizer& optimizer) {
  if (!scale.is_on()) return {};
  const auto [place, is_first] = overflows_.try_emplace(&optimizer);
  if (is_first) {
    const Division* division = request.root.state().division.get();
    place->second = scale.unscale(optimizer.grads(), division != nullptr ? division->holders() : one_rank());
  }
  return place->second;
}

void Session::clip_and_step_later(Optimizer& optimizer, const Gradients::Came& came) {
  const at::Tensor overflow = unscale(optimizer);
  overflows_.erase(&optimizer);
  at::Tensor norm;
  if (const auto clipped = norms_later_.extract(&optimizer)) norm = clipped.mapped();
  if (!norm.defined() && (hooks_want_norm() || looks_at_gradients())) norm = optimizer.measure_norm_later();
  // What a hook of the program reads is worth waiting for.
  grad_norm = hooks_want_norm() && norm.defined() ? read_number(norm) : NAN;
  run_hook(Hook::before_step);
  tell_before_clip(optimizer);
  if (const at::Tensor clipped = optimizer.clip_later(); clipped.defined()) {
    norm = clipped;
    if (is_recorded_) norms.add("grad_norm/" + optimizer.name(), clipped);
  }
  const at::Tensor blocked = late.blocked(optimizer, came.bad_later, norm, overflow);
  if (!optimizer.repeats_step()) {
    optimizer.step(global_step, blocked);
    has_updated_ = true;
  } else if (blocked.defined() && read_number(blocked) != 0) {
    optimizer.zero_grad();
  } else {
    has_updated_ = search(optimizer, came) || has_updated_;
  }
  forget_casts();
  run_hook(Hook::after_step);
}

}  // namespace ltr
