#include <ATen/ATen.h>

#include "runtime/optim/elements.h"

namespace ltr::optim {

namespace {

/// Stochastic gradient descent.
class Sgd : public Rule {
 public:
  explicit Sgd(Arguments& arguments)
      : momentum_(arguments.number("momentum", 0)),
        dampening_(arguments.number("dampening", 0)),
        nesterov_(arguments.flag("nesterov", false)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override {
    if (momentum_ == 0) return {};
    return {"momentum_buffer"};
  }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      // The first gradient is taken whole, without dampening.
      const bool is_first = dampening_ != 0 && up.steps[i].item<double>() == 1;
      const double taken = is_first ? 1.0 : 1 - dampening_;
      if (by_kernel(up, i, [&](const Elements& e) { move(e, up.lr, taken); })) continue;
      at::Tensor grad = maximize_ ? at::neg(up.grads[i]) : up.grads[i];
      if (weight_decay != 0) grad = at::add(grad, up.weights[i], weight_decay);
      if (momentum_ != 0) {
        at::Tensor& buffer = up.state[0][i];
        buffer.mul_(momentum_).add_(grad, taken);
        grad = nesterov_ ? at::add(grad, buffer, momentum_) : buffer;
      }
      up.weights[i].add_(grad, -up.lr);
    }
  }

  bool set_momentum(double value) override {
    if (momentum_ == 0) return false;
    momentum_ = value;
    return true;
  }

 private:
  void move(const Elements& e, double lr, double taken) const {
    if (momentum_ == 0) return sgd_update(e.weight, e.grad, e.count, decay(maximize_), float(lr));
    momentum_update(e.weight, e.grad, e.state[0], e.count, decay(maximize_),
                    {.lr = float(lr), .kept = float(momentum_), .taken = float(taken), .nesterov = nesterov_});
  }

  double momentum_;
  double dampening_;
  bool nesterov_;
  bool maximize_;
};

}  // namespace

std::unique_ptr<Rule> make_sgd(Arguments& arguments) { return std::make_unique<Sgd>(arguments); }

}  // namespace ltr::optim
