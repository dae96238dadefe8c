#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/optim/rule.h"

namespace ltr::optim {

namespace {

/// Keeps means of squared gradients per row and column instead of per element. Below two dims there is nothing to save,
/// and every element has its own.
class Adafactor : public Rule {
 public:
  explicit Adafactor(Arguments& arguments)
      : beta2_decay_(arguments.number("beta2_decay", -0.8)),
        least_(arguments.option_pair("eps", std::nullopt, 1e-3)),
        most_(arguments.number("d", 1.0)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override { return {"row_var", "col_var", "variance"}; }

  at::Tensor initial_state(const char* name, const at::Tensor& weight) const override {
    const std::string_view which = name;
    if (weight.dim() < 2) return which == "variance" ? at::zeros_like(weight) : at::zeros({0}, weight.options());
    if (which == "variance") return at::zeros({0}, weight.options());
    std::vector<int64_t> sizes = weight.sizes().vec();
    sizes[sizes.size() - (which == "row_var" ? 1 : 2)] = 1;
    return at::zeros(sizes, weight.options());
  }

  Blocking blocking() const override { return Blocking::Asks; }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      const at::Tensor grad = maximize_ ? at::neg(up.grads[i]) : up.grads[i];
      const at::Tensor& weight = up.weights[i];
      const double step = up.steps[i].item<double>();
      const double fresh = std::pow(step, beta2_decay_);
      const double rate = std::min(up.lr, 1 / std::sqrt(step));
      const double size = std::sqrt(double(weight.numel()));
      // Norms stay on the device, in f64: the host waits for none of them.
      const at::Tensor alpha = wide_norm(weight).div_(size).clamp_min_(least_.second).mul_(rate);
      if (weight_decay != 0) weight.mul_(1 - up.lr * weight_decay);
      const double floor =
          least_.first.value_or(weight.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                                    : std::numeric_limits<float>::epsilon());
      at::Tensor variance = moved_variance(up, i, grad, fresh, floor);
      at::Tensor direction = variance.clamp_min_(floor * floor).rsqrt_().mul_(grad);
      const at::Tensor length = wide_norm(direction).div_(size * most_).clamp_min_(1.0);
      weight.sub_(direction.mul_(at::div(alpha, length)));
    }
  }

 private:
  /// Takes in the gradient, and gives the estimate for every element, as a tensor of its own.
  static at::Tensor moved_variance(const Update& up, size_t i, const at::Tensor& grad, double fresh, double floor) {
    const at::Tensor square = at::square(grad);
    if (grad.dim() < 2) return up.state[2][i].lerp_(square, fresh).clone();
    at::Tensor& rows = up.state[0][i].lerp_(square.mean(-1, true), fresh);
    at::Tensor& columns = up.state[1][i].lerp_(square.mean(-2, true), fresh);
    return at::matmul(rows, columns).div_(rows.mean(-2, true).clamp_min_(floor));
  }

  double beta2_decay_;
  std::pair<std::optional<double>, double> least_;
  double most_;
  bool maximize_;
};

}  // namespace

std::unique_ptr<Rule> make_adafactor(Arguments& arguments) { return std::make_unique<Adafactor>(arguments); }

}  // namespace ltr::optim
