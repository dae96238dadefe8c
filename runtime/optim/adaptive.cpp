#include <ATen/ATen.h>

#include "runtime/optim/elements.h"

namespace ltr::optim {

namespace {

// LibTorch takes its square roots from MKL, and they are not always the processor's. The rules that need one take it from there, so
// that they stay PyTorch's to the last digit: Adadelta makes 6e-3 of one in twenty steps of a CNN.

class RmsProp : public Rule {
 public:
  explicit RmsProp(Arguments& arguments)
      : alpha_(arguments.number("alpha", 0.99)),
        eps_(arguments.number("eps", 1e-8)),
        momentum_(arguments.number("momentum", 0)),
        centered_(arguments.flag("centered", false)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override {
    std::vector<const char*> names{"square_avg"};
    if (momentum_ > 0) names.push_back("momentum_buffer");
    if (centered_) names.push_back("grad_avg");
    return names;
  }

  void update(const Update& up) override {
    const RmsPropNumbers by{.lr = float(up.lr),
                            .kept = float(alpha_),
                            .fresh = float(1 - alpha_),
                            .eps = float(eps_),
                            .momentum = float(momentum_),
                            .buffer = momentum_ > 0 ? 1 : -1,
                            .mean = centered_ ? int(up.state.size()) - 1 : -1};
    const Decay decay_by = decay(maximize_);
    for (size_t i = 0; i < up.weights.size(); i++) {
      const bool is_done = by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& all) {
        by_roots(
            all, 1, [&](const Elements& e, float* squares) { kernels.rmsprop_squares(e, decay_by, by, squares); },
            [&](const Elements& e, const float* roots) { kernels.rmsprop(e, decay_by, by, roots); });
      });
      if (is_done) continue;
      by_pieces(up, i, [&](at::Tensor weight, const at::Tensor& given, TensorVec& state) {
        const at::Tensor grad = decayed(given, weight, maximize_);
        at::Tensor& square = state[0];
        square.mul_(alpha_).addcmul_(grad, grad, 1 - alpha_);
        at::Tensor root;
        if (centered_) {
          at::Tensor& mean = state.back();
          mean.lerp_(grad, 1 - alpha_);
          root = at::addcmul(square, mean, mean, -1).sqrt_();
        } else {
          root = at::sqrt(square);
        }
        root.add_(eps_);
        if (momentum_ > 0) {
          state[1].mul_(momentum_).addcdiv_(grad, root);
          weight.add_(state[1], -up.lr);
        } else {
          weight.addcdiv_(grad, root, -up.lr);
        }
      });
    }
  }

  double* momentum() override { return momentum_ != 0 ? &momentum_ : nullptr; }

 private:
  double alpha_;
  double eps_;
  double momentum_;
  bool centered_;
  bool maximize_;
};

class Adadelta : public Rule {
 public:
  explicit Adadelta(Arguments& arguments)
      : rho_(arguments.number("rho", 0.9)),
        eps_(arguments.number("eps", 1e-6)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override { return {"square_avg", "acc_delta"}; }

  void update(const Update& up) override {
    const AdadeltaNumbers by{.lr = float(up.lr), .kept = float(rho_), .fresh = float(1 - rho_), .eps = float(eps_)};
    const auto move = [&](const ElementKernels& kernels, size_t, const Elements& all) {
      by_roots(
          all, 2,
          [&](const Elements& e, float* squares) { kernels.adadelta_squares(e, decay(maximize_), by, squares); },
          [&](const Elements& e, const float* roots) { kernels.adadelta(e, decay(maximize_), by, roots); });
    };
    if (by_kernel(up, move)) return;
    for (size_t i = 0; i < up.weights.size(); i++) {
      const bool is_done =
          by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& e) { move(kernels, i, e); });
      if (is_done) continue;
      by_pieces(up, i, [&](at::Tensor weight, const at::Tensor& given, TensorVec& state) {
        const at::Tensor grad = decayed(given, weight, maximize_);
        at::Tensor &square = state[0], &moved = state[1];
        square.mul_(rho_).addcmul_(grad, grad, 1 - rho_);
        const at::Tensor root = at::add(square, eps_).sqrt_();
        const at::Tensor delta = at::add(moved, eps_).sqrt_().div_(root).mul_(grad);
        moved.mul_(rho_).addcmul_(delta, delta, 1 - rho_);
        weight.add_(delta, -up.lr);
      });
    }
  }

 private:
  double rho_;
  double eps_;
  bool maximize_;
};

class Adagrad : public Rule {
 public:
  explicit Adagrad(Arguments& arguments)
      : lr_decay_(arguments.number("lr_decay", 0)),
        initial_(arguments.number("initial", 0)),
        eps_(arguments.number("eps", 1e-10)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override { return {"sum"}; }

  at::Tensor initial_state(const char*, const at::Tensor& weight) const override {
    return at::full_like(weight, initial_);
  }

  Blocking blocking() const override { return Blocking::Asks; }

  bool rests() const override { return weight_decay == 0 && initial_ >= 0 && eps_ > 0; }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      const double step = double(*up.steps[i].const_data_ptr<float>());  // on the host, which asks
      const double rate = up.lr / (1 + (step - 1) * lr_decay_);
      const AdagradNumbers by{.rate = float(rate), .eps = float(eps_)};
      const bool is_done = by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& all) {
        by_roots(
            all, 1,
            [&](const Elements& e, float* squares) { kernels.adagrad_squares(e, decay(maximize_), by, squares); },
            [&](const Elements& e, const float* roots) { kernels.adagrad(e, decay(maximize_), by, roots); });
      });
      if (is_done) continue;
      if (up.grads[i].is_sparse()) {
        move_rows(up.weights[i], up.grads[i], up.state[0][i], rate);
        continue;
      }
      by_pieces(up, i, [&](at::Tensor weight, const at::Tensor& given, TensorVec& state) {
        move(weight, decayed(given, weight, maximize_), state[0], rate);
      });
    }
  }

 private:
  void move(at::Tensor& weight, const at::Tensor& grad, at::Tensor& sum, double rate) const {
    sum.addcmul_(grad, grad, 1);
    weight.addcdiv_(grad, at::sqrt(sum).add_(eps_), -rate);
  }
  /// Of a table, the rows that have a gradient.
  void move_rows(at::Tensor& table, const at::Tensor& given, at::Tensor& sums, double rate) const {
    const at::Tensor rows = given._indices()[0];
    at::Tensor some = table.index_select(0, rows), sum = sums.index_select(0, rows);
    move(some, decayed(given._values(), some, maximize_), sum, rate);
    table.index_copy_(0, rows, some);
    sums.index_copy_(0, rows, sum);
  }

  double lr_decay_;
  double initial_;
  double eps_;
  bool maximize_;
};

class Rprop : public Rule {
 public:
  explicit Rprop(Arguments& arguments)
      : etas_(arguments.pair("etas", 0.5, 1.2)),
        sizes_(arguments.pair("step_sizes", 1e-6, 50)),
        maximize_(arguments.flag("maximize", false)) {}

  std::vector<const char*> state_names() const override { return {"prev", "step_size"}; }

  at::Tensor initial_state(const char* name, const at::Tensor& weight) const override {
    return Str(name) == "prev" ? at::zeros_like(weight) : at::full_like(weight, lr);
  }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      const bool is_done = by_kernel(up, i, [&](const ElementKernels& kernels, const Elements& e) {
        kernels.rprop(e, decay(maximize_),
                      {.shrink = float(etas_.first),
                       .grow = float(etas_.second),
                       .least = float(sizes_.first),
                       .most = float(sizes_.second)});
      });
      if (is_done) continue;
      const at::Tensor grad = (maximize_ ? at::neg(up.grads[i]) : up.grads[i]).clone();
      at::Tensor& before = up.state[0][i];
      at::Tensor& size = up.state[1][i];
      const at::Tensor agreement = at::sign(grad * before);
      const at::Tensor factor =
          at::where(agreement > 0, at::full_like(grad, etas_.second),
                    at::where(agreement < 0, at::full_like(grad, etas_.first), at::ones_like(grad)));
      size.mul_(factor).clamp_(sizes_.first, sizes_.second);
      // Where the sign turned, this gradient does not count.
      grad.masked_fill_(agreement < 0, 0);
      up.weights[i].addcmul_(at::sign(grad), size, -1);
      before.copy_(grad);
    }
  }

 private:
  std::pair<double, double> etas_;
  std::pair<double, double> sizes_;
  bool maximize_;
};

}  // namespace

std::unique_ptr<Rule> make_rmsprop(Arguments& arguments) { return std::make_unique<RmsProp>(arguments); }

std::unique_ptr<Rule> make_adadelta(Arguments& arguments) { return std::make_unique<Adadelta>(arguments); }

std::unique_ptr<Rule> make_adagrad(Arguments& arguments) { return std::make_unique<Adagrad>(arguments); }

std::unique_ptr<Rule> make_rprop(Arguments& arguments) { return std::make_unique<Rprop>(arguments); }

}  // namespace ltr::optim
