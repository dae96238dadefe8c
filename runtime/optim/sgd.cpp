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

  // The first of dampened updates is another one, so it is counted.
  Blocking blocking() const override { return dampening_ != 0 ? Blocking::Asks : Blocking::Kernel; }

  bool rests() const override { return momentum_ == 0 && weight_decay == 0; }

  void update(const Update& up) override {
    if (up.blocked.defined()) return update_unless_blocked(up);
    // The first gradient is taken whole, without dampening.
    const auto taken = [&](size_t i) {
      return dampening_ != 0 && up.steps[i].item<double>() == 1 ? 1.0 : 1 - dampening_;
    };
    const auto move = [&](const ElementKernels& kernels, size_t i, const Elements& e) {
      kernels.sgd(e, decay(maximize_),
                  {.lr = float(up.lr), .kept = float(momentum_), .taken = float(taken(i)), .nesterov = nesterov_});
    };
    if (by_kernel(up, move)) return;
    for (size_t i = 0; i < up.weights.size(); i++) {
      const bool is_done =
          by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& e) { move(kernels, i, e); });
      if (is_done) continue;
      if (up.grads[i].is_sparse()) {
        up.weights[i].add_(up.grads[i], maximize_ ? up.lr : -up.lr);
        continue;
      }
      at::Tensor grad = maximize_ ? at::neg(up.grads[i]) : up.grads[i];
      if (weight_decay != 0) grad = at::add(grad, up.weights[i], weight_decay);
      if (momentum_ != 0) {
        at::Tensor& buffer = up.state[0][i];
        buffer.mul_(momentum_).add_(grad, taken(i));
        grad = nesterov_ ? at::add(grad, buffer, momentum_) : buffer;
      }
      up.weights[i].add_(grad, -up.lr);
    }
  }

  double* momentum() override { return momentum_ != 0 ? &momentum_ : nullptr; }

 private:
  void update_unless_blocked(const Update& up) const {
    static const TensorVec none;
    at::_fused_sgd_(up.weights, up.grads, momentum_ != 0 ? up.state[0] : none, weight_decay, momentum_, up.lr,
                    dampening_, nesterov_, maximize_, /*is_first_step=*/false, {}, up.blocked);
  }

  double momentum_;
  double dampening_;
  bool nesterov_;
  bool maximize_;
};

}  // namespace

std::unique_ptr<Rule> make_sgd(Arguments& arguments) { return std::make_unique<Sgd>(arguments); }

}  // namespace ltr::optim
