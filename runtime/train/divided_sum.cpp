#include "runtime/train/divided_sum.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

namespace ltr {

namespace {

using Steady = std::chrono::steady_clock;

/// So many units are on their way at a time, where gradients are to take little memory.
constexpr size_t kUnderWay = 1;

double seconds(Steady::time_point since) { return std::chrono::duration<double>(Steady::now() - since).count(); }

/// Says that the gradient of a weight is complete.
class Came final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit Came(std::function<void()> say) : say_(std::move(say)) {}
  void operator()(const torch::autograd::Variable&) override { say_(); }

 private:
  std::function<void()> say_;
};

}  // namespace

DividedSum::DividedSum(Division& division, std::vector<size_t> units) : division_(division) {
  for (const size_t unit : units) units_.push_back({unit, division.units_[unit].get()});
  for (size_t i = 0; i < units_.size(); i++) {
    for (const at::Tensor& weight : units_[i].divided->unit.weights()) {
      torch::autograd::impl::set_post_acc_grad_hooks(weight, std::make_unique<Came>([this, i] { came(i); }));
    }
  }
}

DividedSum::~DividedSum() {
  for (const OfUnit& one : units_) {
    for (const at::Tensor& weight : one.divided->unit.weights())
      torch::autograd::impl::set_post_acc_grad_hooks(weight, nullptr);
  }
}

void DividedSum::during(const std::function<void()>& pass) {
  begin();
  pass();
  const NoGrad no_grad;
  // What no gradient came for counts as zeros.
  for (OfUnit& one : units_) one.missing = 0;
  send_complete();
  is_summing_ = false;
  const Steady::time_point all_left = Steady::now();
  wait_until(0);
  times_.wait_s += seconds(all_left);
  times_.exchange_s += seconds(first_left_);
}

void DividedSum::begin() {
  for (OfUnit& one : units_) {
    one.missing = std::ranges::count_if(one.divided->unit.weights(),
                                        [](const at::Tensor& weight) { return weight.requires_grad(); });
  }
  next_ = 0;
  is_summing_ = true;
  first_left_ = Steady::now();
}

void DividedSum::came(size_t unit) {
  if (!is_summing_) return;
  units_[unit].missing--;
  const NoGrad no_grad;
  send_complete();
}

void DividedSum::send_complete() {
  while (next_ < units_.size() && units_[next_].missing == 0) {
    if (next_ == 0) first_left_ = Steady::now();
    send(units_[next_++]);
  }
}

void DividedSum::send(OfUnit& one) {
  const Unit& unit = one.divided->unit;
  if (division_.whole_units_) division_.whole_units_->release(one.number);
  const at::ScalarType type = division_.travel_.type;
  const at::TensorOptions options = type == at::ScalarType::Undefined ? unit.options() : unit.options().dtype(type);
  const at::Tensor row = at::zeros({unit.size()}, options);
  for (size_t i = 0; i < unit.weights().size(); i++) {
    at::Tensor& gradient = unit.weights()[i].mutable_grad();
    if (gradient.defined()) unit.in_row(row, i).copy_(gradient);
    gradient = at::Tensor();
  }
  Leaving& leaving = leaving_.emplace_back(Leaving{&one, row, at::empty({unit.chunk()}, options), nullptr});
  leaving.pending = division_.holders_->begin_scatter(leaving.chunk, row);
  if (division_.plan_.what != Divides::States) wait_until(kUnderWay);
}

void DividedSum::wait_until(size_t most) {
  while (leaving_.size() > most) {
    leaving_.front().pending->wait();
    if (division_.peers_) division_.peers_->sum_tensor(leaving_.front().chunk);
    take(leaving_.front());
    leaving_.pop_front();
  }
}

void DividedSum::take(Leaving& done) {
  const Unit& unit = done.one->divided->unit;
  const at::Tensor chunk = done.chunk.to(unit.options().dtype());
  for (size_t i = 0; i < unit.weights().size(); i++) {
    const at::Tensor& weight = unit.weights()[i];
    Division::Part& part = division_.part(weight);
    if (!weight.requires_grad()) continue;
    const at::Tensor came = unit.in_chunk(chunk, i, division_.holders_->rank());
    // Of a manual step some may be there already.
    if (part.has_gradient && came.defined()) came.add_(part.gradient);
    part.gradient = came;
    part.has_gradient = true;
  }
}

void DividedSum::drop(const at::Tensor& weight) const { division_.forget_gradient(weight); }

}  // namespace ltr
