#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "runtime/api/error.h"
#include "runtime/optim/rule.h"

namespace ltr::optim {

namespace {

/// The nearest matrix with singular values around 1, by Newton-Schulz steps in bf16. The coefficients grow small values
/// fast and do not settle at 1, which training does not mind (Jordan et al. 2024).
at::Tensor orthogonalized(const at::Tensor& matrix, int64_t steps) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  const bool is_tall = matrix.size(0) > matrix.size(1);
  at::Tensor x = matrix.to(at::kBFloat16);
  if (is_tall) x = x.t();
  x = x / at::linalg_vector_norm(x).clamp_min(1e-7);
  for (int64_t step = 0; step < steps; step++) {
    const at::Tensor gram = at::matmul(x, x.t());
    x = at::addmm(x, at::addmm(gram, gram, gram, b, c), x, a, 1);
  }
  return is_tall ? x.t() : x;
}

class Muon : public Rule {
 public:
  explicit Muon(Arguments& arguments)
      : momentum_(arguments.number("momentum", 0.95)),
        nesterov_(arguments.flag("nesterov", true)),
        steps_(int64_t(arguments.number("ns_steps", 5))),
        matches_adamw_(arguments.word("adjust", "original") == "match_rms_adamw") {}

  std::vector<const char*> state_names() const override { return {"momentum_buffer"}; }

  at::Tensor initial_state(const char*, const at::Tensor& weight) const override {
    if (weight.dim() != 2) {
      throw with_help(error_here(err::settings_contradict,
                                 fmt::format("Muon moves matrices, and a weight has {} dims", weight.dim())),
                      "give the other weights to another optimizer");
    }
    return at::zeros_like(weight);
  }

  void update(const Update& up) override {
    for (size_t i = 0; i < up.weights.size(); i++) {
      const at::Tensor& weight = up.weights[i];
      at::Tensor& buffer = up.state[0][i];
      buffer.lerp_(up.grads[i], 1 - momentum_);
      const at::Tensor direction =
          orthogonalized(nesterov_ ? at::lerp(up.grads[i], buffer, momentum_) : buffer, steps_);
      const auto rows = double(weight.size(0)), columns = double(weight.size(1));
      const double ratio =
          matches_adamw_ ? 0.2 * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
      weight.mul_(1 - up.lr * weight_decay);
      weight.add_(direction, -up.lr * ratio);
    }
  }

  double* momentum() override { return &momentum_; }

 private:
  double momentum_;
  bool nesterov_;
  int64_t steps_;
  bool matches_adamw_;
};

}  // namespace

std::unique_ptr<Rule> make_muon(Arguments& arguments) { return std::make_unique<Muon>(arguments); }

}  // namespace ltr::optim
