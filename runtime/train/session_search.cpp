#include <ATen/ATen.h>

#include <cmath>

#include "runtime/tensor/draw.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/train/kept_metrics.h"
#include "runtime/train/session.h"

// Updates that look at the loss again, at other weights (runtime.md 2.4): what of the step stands above its `minimize` runs again on
// the same batch, with the same random numbers. On several ranks all do so, and decide by the mean of what they found.

namespace ltr {

bool Session::make_update(Optimizer& optimizer, const Gradients::Came& came) {
  if (optimizer.repeats_step()) return search(optimizer, came);
  optimizer.step(global_step);
  return true;
}

bool Session::search(Optimizer& optimizer, const Gradients::Came& came) {
  const KeptMetrics metrics(request.model, int64_t(running_.stream_index));
  const DrawScope draws(DrawScope::here());  // those below the `minimize` go on from here
  double newest = mean_loss(In(loss), came.share);
  const bool moved = optimizer.search(global_step, newest, [&] { return newest = evaluate(optimizer); });
  // Finders have no number refused.
  if (moved || request.flags.bare) return moved;
  if (std::isfinite(newest))
    gate.refuse_update(optimizer.name());
  else
    gate.refuse_loss(minimizes_at_, FiniteGate::shown(newest));
  return false;
}

double Session::evaluate(Optimizer& optimizer) {
  struct Scope {
    explicit Scope(Session& session) : of(session), was_silent(std::exchange(session.is_silent, true)) {
      of.is_repeating_ = true;
    }
    ~Scope() {
      of.is_silent = was_silent;
      of.is_repeating_ = false;
    }
    Session& of;
    bool was_silent;
  };
  const Scope scope(*this);
  const auto& [info, batch, stream_index, number] = running_;
  return evaluated_by([&] { runner_->run(*info, *batch, stream_index, number); }, evaluated_, minimizes_at_);
}

double Session::take_evaluation(const at::Tensor& loss, Optimizer& optimizer) {
  // What is not finite is for the search to see.
  gradients_.add(loss, optimizer, false, true);
  const Gradients::Came came = gradients_.take(optimizer);
  const NoGrad no_grad;
  if (std::abs(came.share - 1) > 1e-9) optimizer.scale_grads(1 / came.share);
  return mean_loss(loss, came.share);
}

double Session::mean_loss(const at::Tensor& loss, double shares) const {
  double sum = read_number(loss.detach().sum()) * share_;
  request.ranks.sum({&sum, 1});
  return sum / shares;
}

}  // namespace ltr
