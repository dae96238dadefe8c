#include "runtime/train/late_gate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "runtime/optim/optimizer.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/precision.h"

namespace ltr {

LateGate::LateGate(const RunRequest& request, FiniteGate& gate, LossScale& scale)
    : request_(request),
      gate_(gate),
      scale_(scale),
      is_on_(accelerator() != nullptr && request.trainer.nan != "raise" && !request.trainer.anomaly) {
  if (!is_on_) return;
  const at::ScalarType type = policy_type() == at::kDouble ? at::kDouble : at::kFloat;
  zero_ = at::zeros({}, at::TensorOptions(type).device(compute_device()));
  stopped_ = zero_.to(at::kBool);
}

void LateGate::begin_window(int64_t step) {
  now_ = {};
  now_.step = step;
}

void LateGate::begin_row(const Batch& batch, int64_t epoch, int64_t number) {
  if (is_on_) now_.rows.push_back({batch, epoch, number});
}

at::Tensor LateGate::put(const at::Tensor& scalar) {
  now_.there.push_back(scalar.defined() ? scalar.detach().to(zero_.scalar_type()).reshape({}) : zero_);
  return now_.there.back();
}

void LateGate::saw_loss(const at::Tensor& loss, const Optimizer* optimizer, const Location& location) {
  // A loss that is no scalar is refused by the backward pass, in better words.
  if (request_.flags.bare || loss.numel() != 1) return;
  now_.losses.push_back({optimizer, location, now_.rows.empty() ? 0 : now_.rows.size() - 1});
  losses_there_.push_back(put(loss));
}

at::Tensor LateGate::bad_loss(const Optimizer& optimizer) const {
  std::vector<at::Tensor> losses;
  for (size_t i = 0; i < now_.losses.size(); i++) {
    if (now_.losses[i].is_of(optimizer)) losses.push_back(losses_there_[i]);
  }
  return losses.empty() ? zero_.to(at::kBool) : at::stack(losses).isfinite().all().logical_not();
}

at::Tensor LateGate::blocked(const Optimizer& optimizer, const at::Tensor& bad_losses, const at::Tensor& norm,
                             const at::Tensor& overflow) {
  if (request_.flags.bare) return overflow;
  // What no update would bring into order again; an overflow is the scale's own affair.
  at::Tensor hit = bad_losses.defined() ? bad_losses > 0 : bad_loss(optimizer);
  if (norm.defined()) {
    at::Tensor bad = norm.isfinite().logical_not();
    if (overflow.defined()) bad = bad.logical_and(overflow == 0);
    hit = hit.logical_or(bad);
  }
  at::Tensor blocked = hit;
  if (request_.trainer.nan == "stop") blocked = stopped_ = stopped_.logical_or(hit);
  if (overflow.defined()) blocked = blocked.logical_or(overflow > 0);
  now_.updates.push_back({&optimizer, 0});
  blocked = blocked.to(at::kFloat);
  // Losses come first on the way to the host, whenever they came.
  updates_there_.push_back({blocked, norm, overflow, bad_losses});
  return blocked;
}

void LateGate::end_window() {
  if (!is_on_) return;
  losses_there_.clear();
  for (size_t i = 0; i < now_.updates.size(); i++) {
    now_.updates[i].first = now_.there.size();
    for (const at::Tensor& number : updates_there_[i]) put(number);
  }
  updates_there_.clear();
  put(scale_.scale());
  now_.here = accelerator()->to_host(at::stack(now_.there));
  now_.there.clear();
  now_.mark = accelerator()->mark();
  windows_.push_back(std::move(now_));
  now_ = {};
  judge_until(size_t(request_.trainer.host_ahead));
}

void LateGate::learn_all() { judge_until(0); }

void LateGate::judge_until(size_t most) {
  while (windows_.size() > most) {
    const Window oldest = std::move(windows_.front());
    windows_.pop_front();
    judge(oldest);
  }
}

// ---- on the host ---------------------------------------------------------------------------------------------

template <class Refuse>
void LateGate::refusing(const Window& window, size_t row, Refuse&& refuse) {
  try {
    refuse();
  } catch (const Error&) {
    // The later windows held everything back; what they say is no news.
    windows_.clear();
    if (row < window.rows.size()) {
      const Row& of = window.rows[row];
      culprit_ = Culprit{window.step, of.epoch, of.number, of.batch};
    }
    throw;
  }
}

void LateGate::judge(const Window& window) {
  window.mark->wait();
  const at::Tensor wide = window.here.to(at::kDouble);
  const double* numbers = wide.const_data_ptr<double>();
  for (const Update& update : window.updates) judge_update(window, update, numbers);
  for (size_t i = 0; i < window.losses.size(); i++) {
    const Loss& loss = window.losses[i];
    const bool is_taken =
        std::ranges::any_of(window.updates, [&](const Update& update) { return loss.is_of(*update.optimizer); });
    if (is_taken || std::isfinite(numbers[i])) continue;
    refusing(window, loss.row, [&] { gate_.refuse_loss(loss.location, FiniteGate::shown(numbers[i]), window.step); });
  }
}

void LateGate::judge_update(const Window& window, const Update& update, const double* numbers) {
  const double* own = numbers + update.first;
  if (own[0] == 0) return gate_.passed();
  for (size_t i = 0; i < window.losses.size(); i++) {
    const Loss& loss = window.losses[i];
    if (!loss.is_of(*update.optimizer) || std::isfinite(numbers[i])) continue;
    return refusing(window, loss.row,
                    [&] { gate_.refuse_loss(loss.location, FiniteGate::shown(numbers[i]), window.step); });
  }
  if (own[3] != 0) {
    return refusing(window, window.rows.size(), [&] { gate_.refuse_loss_elsewhere(window.step); });
  }
  const size_t last_row = window.rows.empty() ? 0 : window.rows.size() - 1;
  // A smaller scale may help, as long as there is one.
  const bool may_shrink = numbers[size_t(window.here.numel()) - 1] >= 1;
  if (own[2] != 0 && may_shrink) return;
  refusing(window, last_row, [&] { gate_.refuse_update(update.optimizer->name(), window.step); });
}

}  // namespace ltr
