#include <ATen/ATen.h>

#include <cmath>

#include "runtime/optim/elements.h"

namespace ltr::optim {

namespace {

/// Adam and AdamW; what our kernel does not take, by LibTorch's fused ones.
class Adam : public Rule {
 public:
  Adam(Arguments& arguments, bool decoupled)
      : decoupled_(decoupled),
        betas_(arguments.pair("betas", 0.9, 0.999)),
        eps_(arguments.number("eps", 1e-8)),
        amsgrad_(arguments.flag("amsgrad", false)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override {
    if (amsgrad_) return {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
    return {"exp_avg", "exp_avg_sq"};
  }

  void update(const Update& up) override {
    if (!amsgrad_ && !up.blocked.defined() && update_elements(up)) return;
    static const TensorVec none;
    const TensorVec& most = amsgrad_ ? up.state[2] : none;
    const auto fused = decoupled_ ? static_cast<Fused*>(&at::_fused_adamw_) : static_cast<Fused*>(&at::_fused_adam_);
    fused(up.weights, up.grads, up.state[0], up.state[1], most, up.steps, up.lr, betas_.first, betas_.second,
          weight_decay, eps_, amsgrad_, maximize_, {},
          up.blocked.defined() ? std::optional<at::Tensor>(up.blocked) : std::nullopt);
  }
  Blocking blocking() const override { return Blocking::Kernel; }

  double* momentum() override { return &betas_.first; }

 private:
  bool update_elements(const Update& up) const {
    if (!fits_kernel(up)) return false;  // the counts of steps lie with the weights, maybe where the host cannot read
    const Decay by_weight = decoupled_ ? shrinking(maximize_, up.lr) : decay(maximize_);
    // Weights that move together count the same updates, but for those that did not always.
    const double first = double(*up.steps[0].const_data_ptr<float>());
    const AdamNumbers numbers = at_step(first, up.lr);
    return by_kernel(up, [&](const ElementKernels& kernels, size_t i, const Elements& e) {
      const double step = double(*up.steps[i].const_data_ptr<float>());
      kernels.adam(e, by_weight, step == first ? numbers : at_step(step, up.lr));
    });
  }

  AdamNumbers at_step(double step, double lr) const {
    return {.fresh1 = float(1 - betas_.first),
            .beta2 = float(betas_.second),
            .fresh2 = float(1 - betas_.second),
            .step_size = float(lr / (1 - std::pow(betas_.first, step))),
            .root = float(std::sqrt(1 - std::pow(betas_.second, step))),
            .eps = float(eps_)};
  }

  using Fused = void(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                     double, double, double, double, double, bool, bool, const std::optional<at::Tensor>&,
                     const std::optional<at::Tensor>&);
  bool decoupled_;
  std::pair<double, double> betas_;
  double eps_;
  bool amsgrad_;
  bool maximize_;
};

/// Rules of the family that LibTorch has no fused kernel for: in the order of PyTorch's own loops.
class AdamLike : public Rule {
 public:
  explicit AdamLike(Arguments& arguments)
      : betas_(arguments.pair("betas", 0.9, 0.999)),
        eps_(arguments.number("eps", 1e-8)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override { return {"exp_avg", "exp_avg_sq"}; }
  Blocking blocking() const override { return Blocking::Asks; }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      const double step = double(*up.steps[i].const_data_ptr<float>());  // on the host, which asks
      if (move_elements(up, i, step)) continue;
      at::Tensor grad = maximize_ ? at::neg(up.grads[i]) : up.grads[i];
      if (weight_decay != 0) {
        if (decoupled_) {
          up.weights[i].mul_(1 - up.lr * weight_decay);
        } else {
          grad = at::add(grad, up.weights[i], weight_decay);
        }
      }
      move(up, i, grad, step);
    }
  }

  double* momentum() override { return &betas_.first; }

 protected:
  /// Whether a kernel moved the weight already.
  virtual bool move_elements(const Update&, size_t, double) { return false; }
  virtual void move(const Update& up, size_t i, const at::Tensor& grad, double step) = 0;

  Decay by_weight(double rate) const { return decoupled_ ? shrinking(maximize_, rate) : decay(maximize_); }

  /// First and second moment take in `grad`.
  void average(const Update& up, size_t i, const at::Tensor& grad) const {
    up.state[0][i].lerp_(grad, 1 - betas_.first);
    up.state[1][i].mul_(betas_.second).addcmul_(grad, grad, 1 - betas_.second);
  }

  std::pair<double, double> betas_;
  double eps_;
  bool maximize_;
  bool decoupled_ = false;
};

class NAdam : public AdamLike {
 public:
  explicit NAdam(Arguments& arguments)
      : AdamLike(arguments), momentum_decay_(arguments.number("momentum_decay", 4e-3)) {
    decoupled_ = arguments.flag("decoupled", false);
  }

  std::vector<const char*> state_names() const override { return {"exp_avg", "exp_avg_sq", "mu_product"}; }

  at::Tensor initial_state(const char* name, const at::Tensor& weight) const override {
    if (Str(name) == "mu_product") return at::ones({}, at::kFloat);
    return at::zeros_like(weight);
  }

  bool move_elements(const Update& up, size_t i, double step) override {
    if (!fits_kernel(up, i)) return false;
    float& product = *up.state[2][i].mutable_data_ptr<float>();
    const Shares shares = shares_at(step);
    product *= float(shares.mu);
    const NAdamNumbers by{.fresh1 = float(1 - betas_.first),
                          .beta2 = float(betas_.second),
                          .fresh2 = float(1 - betas_.second),
                          .correction = float(shares.correction),
                          .of_grad = float(up.lr * (1 - shares.mu) / (1 - double(product))),
                          .of_mean = float(up.lr * shares.next_mu / (1 - double(product) * shares.next_mu)),
                          .eps = float(eps_)};
    return by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& all) {
      by_roots(
          all, 1, [&](const Elements& e, float* squares) { kernels.nadam_squares(e, by_weight(up.lr), by, squares); },
          [&](const Elements& e, const float* roots) { kernels.nadam(e, by_weight(up.lr), by, roots); });
    });
  }

  void move(const Update& up, size_t i, const at::Tensor& grad, double step) override {
    const Shares shares = shares_at(step);
    up.state[2][i].mul_(shares.mu);
    const double product = up.state[2][i].item<double>();
    average(up, i, grad);
    const at::Tensor denominator = at::sqrt(up.state[1][i].div(shares.correction)).add_(eps_);
    up.weights[i].addcdiv_(grad, denominator, -up.lr * (1 - shares.mu) / (1 - product));
    up.weights[i].addcdiv_(up.state[0][i], denominator, -up.lr * shares.next_mu / (1 - product * shares.next_mu));
  }

 private:
  struct Shares {
    double correction;   ///< 1 - β2^t
    double mu, next_mu;  ///< of the mean, in this update and the next
  };
  Shares shares_at(double step) const {
    return {.correction = 1 - std::pow(betas_.second, step),
            .mu = betas_.first * (1 - 0.5 * std::pow(0.96, step * momentum_decay_)),
            .next_mu = betas_.first * (1 - 0.5 * std::pow(0.96, (step + 1) * momentum_decay_))};
  }

  double momentum_decay_;
};

class RAdam : public AdamLike {
 public:
  explicit RAdam(Arguments& arguments) : AdamLike(arguments) { decoupled_ = arguments.flag("decoupled", false); }

  bool move_elements(const Update& up, size_t i, double step) override {
    const double rectified = rectified_at(step);
    const RAdamNumbers by{.fresh1 = float(1 - betas_.first),
                          .beta2 = float(betas_.second),
                          .fresh2 = float(1 - betas_.second),
                          .correction = float(1 - std::pow(betas_.first, step)),
                          .lr = float(up.lr),
                          .root = float(std::sqrt(1 - std::pow(betas_.second, step))),
                          .rectified = float(rectified),
                          .eps = float(eps_)};
    return by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& all) {
      by_roots(
          all, 1, [&](const Elements& e, float* squares) { kernels.radam_squares(e, by_weight(up.lr), by, squares); },
          [&](const Elements& e, const float* roots) { kernels.radam(e, by_weight(up.lr), by, roots); });
    });
  }

  void move(const Update& up, size_t i, const at::Tensor& grad, double step) override {
    average(up, i, grad);
    const at::Tensor mean = up.state[0][i] / (1 - std::pow(betas_.first, step));
    if (const double rectified = rectified_at(step); rectified > 0) {
      const double root = std::sqrt(1 - std::pow(betas_.second, step));
      const at::Tensor adaptive = root / at::sqrt(up.state[1][i]).add_(eps_);
      up.weights[i].add_(mean * up.lr * adaptive * rectified, -1.0);
    } else {
      up.weights[i].add_(mean * up.lr, -1.0);
    }
  }

 private:
  /// What the step is made smaller by while the variance of a few gradients is hardly known; 0 as long as it is not at all.
  double rectified_at(double step) const {
    const double last = 2 / (1 - betas_.second) - 1, power = std::pow(betas_.second, step);
    const double now = last - 2 * step * power / (1 - power);
    return now > 5 ? std::sqrt((now - 4) * (now - 2) * last / ((last - 4) * (last - 2) * now)) : 0;
  }
};

class Adamax : public AdamLike {
 public:
  explicit Adamax(Arguments& arguments) : AdamLike(arguments) {}

  bool move_elements(const Update& up, size_t i, double step) override {
    const AdamaxNumbers by{.fresh1 = float(1 - betas_.first),
                           .beta2 = float(betas_.second),
                           .step_size = float(up.lr / (1 - std::pow(betas_.first, step))),
                           .eps = float(eps_)};
    return by_kernel(
        up, i, [&](const ElementKernels& kernels, const Elements& e) { kernels.adamax(e, decay(maximize_), by); });
  }

  std::vector<const char*> state_names() const override { return {"exp_avg", "exp_inf"}; }

  void move(const Update& up, size_t i, const at::Tensor& grad, double step) override {
    up.state[0][i].lerp_(grad, 1 - betas_.first);
    at::Tensor& most = up.state[1][i];
    most.mul_(betas_.second);
    at::maximum_out(most, most, at::abs(grad).add_(eps_));
    up.weights[i].addcdiv_(up.state[0][i], most, -up.lr / (1 - std::pow(betas_.first, step)));
  }
};

}  // namespace

std::unique_ptr<Rule> make_adam(Arguments& arguments) { return std::make_unique<Adam>(arguments, false); }

std::unique_ptr<Rule> make_adamw(Arguments& arguments) { return std::make_unique<Adam>(arguments, true); }

std::unique_ptr<Rule> make_nadam(Arguments& arguments) { return std::make_unique<NAdam>(arguments); }

std::unique_ptr<Rule> make_radam(Arguments& arguments) { return std::make_unique<RAdam>(arguments); }

std::unique_ptr<Rule> make_adamax(Arguments& arguments) { return std::make_unique<Adamax>(arguments); }

}  // namespace ltr::optim
