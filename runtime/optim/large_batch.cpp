#include <ATen/ATen.h>

#include <cmath>

#include "runtime/optim/elements.h"

// The formulas are those of runtime.md 6.1; PyTorch has none of these rules.

namespace ltr::optim {

namespace {

class Lion : public Rule {
 public:
  explicit Lion(Arguments& arguments) : betas_(arguments.pair("betas", 0.9, 0.99)) {}

  std::vector<const char*> state_names() const override { return {"exp_avg"}; }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      const bool is_done = by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& e) {
        kernels.lion(e, {.lr = float(up.lr),
                         .weight_decay = float(weight_decay),
                         .fresh1 = float(1 - betas_.first),
                         .fresh2 = float(1 - betas_.second)});
      });
      if (is_done) continue;
      at::Tensor& mean = up.state[0][i];
      const at::Tensor direction = at::sign(at::lerp(mean, up.grads[i], 1 - betas_.first));
      if (weight_decay != 0) direction.add_(up.weights[i], weight_decay);
      up.weights[i].add_(direction, -up.lr);
      mean.lerp_(up.grads[i], 1 - betas_.second);
    }
  }

  double* momentum() override { return &betas_.first; }

 private:
  std::pair<double, double> betas_;
};

class Lamb : public Rule {
 public:
  explicit Lamb(Arguments& arguments)
      : betas_(arguments.pair("betas", 0.9, 0.999)), eps_(arguments.number("eps", 1e-6)) {}

  std::vector<const char*> state_names() const override { return {"exp_avg", "exp_avg_sq"}; }

  Blocking blocking() const override { return Blocking::Asks; }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      const double step = double(*up.steps[i].const_data_ptr<float>());  // on the host, which asks
      if (!move_elements(up, i, step)) move(up, i, step);
    }
  }

 private:
  bool move_elements(const Update& up, size_t i, double step) const {
    if (!fits_kernel(up, i)) return false;
    const LambNumbers by{.fresh1 = float(1 - betas_.first),
                         .beta2 = float(betas_.second),
                         .fresh2 = float(1 - betas_.second),
                         .correction1 = float(1 - std::pow(betas_.first, step)),
                         .correction2 = float(1 - std::pow(betas_.second, step)),
                         .eps = float(eps_),
                         .weight_decay = float(weight_decay)};
    const Sums squares = sums_by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& all) {
      Sums sums{};
      by_roots(
          all, 1, [&](const Elements& e, float* values) { kernels.lamb_moments(e, by, values); },
          [&](const Elements& e, float* values) {
            kernels.lamb_directions(e, by, values);
            sums[0] += kernels.squares(e.weight, e.count);
            sums[1] += kernels.squares(values, e.count);
          });
      return sums;
    });
    const double ratio = squares[0] > 0 && squares[1] > 0 ? std::sqrt(squares[0]) / std::sqrt(squares[1]) : 1;
    // Directions are made twice: that takes less time than a memory of their own would.
    return by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& all) {
      by_roots(
          all, 1, [&](const Elements& e, float* values) { kernels.lamb_squares(e, by, values); },
          [&](const Elements& e, float* values) {
            kernels.lamb_directions(e, by, values);
            kernels.lamb(e, float(up.lr * ratio), values);
          });
    });
  }

  void move(const Update& up, size_t i, double step) const {
    const at::Tensor& grad = up.grads[i];
    up.state[0][i].lerp_(grad, 1 - betas_.first);
    up.state[1][i].mul_(betas_.second).addcmul_(grad, grad, 1 - betas_.second);
    const at::Tensor mean = up.state[0][i] / (1 - std::pow(betas_.first, step));
    const at::Tensor square = up.state[1][i] / (1 - std::pow(betas_.second, step));
    at::Tensor direction = mean / at::sqrt(square).add_(eps_);
    if (weight_decay != 0) direction.add_(up.weights[i], weight_decay);
    const at::Tensor weight_norm = wide_norm(up.weights[i]);
    const at::Tensor direction_norm = wide_norm(direction);
    const at::Tensor has_ratio = at::logical_and(weight_norm > 0, direction_norm > 0);
    const at::Tensor ratio = at::where(has_ratio, at::div(weight_norm, direction_norm), at::Scalar(1.0));
    up.weights[i].sub_(direction.mul_(ratio.mul(up.lr)));
  }

  std::pair<double, double> betas_;
  double eps_;
};

class Lars : public Rule {
 public:
  explicit Lars(Arguments& arguments)
      : momentum_(arguments.number("momentum", 0.9)),
        trust_(arguments.number("trust", 1e-3)),
        eps_(arguments.number("eps", 1e-8)) {}

  std::vector<const char*> state_names() const override { return {"momentum_buffer"}; }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      if (move_elements(up, i)) continue;
      const at::Tensor& grad = up.grads[i];
      at::Tensor step = at::add(grad, up.weights[i], weight_decay);
      if (up.weights[i].dim() >= 2) {
        const at::Tensor weight_norm = wide_norm(up.weights[i]);
        const at::Tensor below = wide_norm(grad).add_(weight_norm, weight_decay).add_(eps_);
        step.mul_(weight_norm.mul(trust_).div_(below));
      }
      up.state[0][i].mul_(momentum_).add_(step);
      up.weights[i].add_(up.state[0][i], -up.lr);
    }
  }

  double* momentum() override { return &momentum_; }

 private:
  bool move_elements(const Update& up, size_t i) const {
    if (!fits_kernel(up, i)) return false;
    double trust = 1;
    if (up.weights[i].dim() >= 2) {
      const Sums squares = sums_by_kernel(up, i, [](const ElementKernels&, const Elements& e) {
        return Sums{squares_by_kernel(e.weight, e.count), squares_by_kernel(e.grad, e.count)};
      });
      const double norm = std::sqrt(squares[0]);
      trust = trust_ * norm / (std::sqrt(squares[1]) + weight_decay * norm + eps_);
    }
    return by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& e) {
      kernels.lars(e, {.lr = float(up.lr),
                       .weight_decay = float(weight_decay),
                       .momentum = float(momentum_),
                       .trust = float(trust)});
    });
  }

  double momentum_;
  double trust_;
  double eps_;
};

}  // namespace

std::unique_ptr<Rule> make_lion(Arguments& arguments) { return std::make_unique<Lion>(arguments); }

std::unique_ptr<Rule> make_lamb(Arguments& arguments) { return std::make_unique<Lamb>(arguments); }

std::unique_ptr<Rule> make_lars(Arguments& arguments) { return std::make_unique<Lars>(arguments); }

}  // namespace ltr::optim
