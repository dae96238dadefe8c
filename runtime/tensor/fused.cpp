#include "runtime/tensor/fused.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "runtime/tensor/product.h"

namespace ltr {

namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

bool is_recorded(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

/// Skips autograd's dispatch while no gradient of the gradient is wanted.
class BelowAutograd {
 public:
  BelowAutograd() {
    if (!c10::GradMode::is_enabled()) guard_.emplace();
  }

 private:
  std::optional<at::AutoDispatchBelowADInplaceOrView> guard_;
};

/// All dimensions but the last as one.
at::Tensor rows_of(const at::Tensor& tensor) {
  if (tensor.dim() == 2) return tensor;
  return tensor.dim() == 1 ? tensor.unsqueeze(0) : tensor.flatten(0, -2);
}

struct LinearBackward : public Node {
  variable_list apply(variable_list&& grads) override {
    variable_list result(3);
    const at::Tensor& grad = grads[0];
    if (!grad.defined()) return result;
    const bool wants_x = task_should_compute_output(0);
    const bool wants_weight = task_should_compute_output(1);
    const bool wants_bias = task_should_compute_output(2);
    const at::Tensor weight = wants_x ? weight_.unpack() : at::Tensor();
    const at::Tensor x = wants_weight ? x_.unpack() : at::Tensor();
    const BelowAutograd below;
    const at::Tensor rows = rows_of(grad);
    // A gradient of the gradient needs products that autograd knows.
    const auto times = c10::GradMode::is_enabled()
                           ? [](const at::Tensor& a, const at::Tensor& b) { return at::mm(a, b.t()); }
                           : [](const at::Tensor& a, const at::Tensor& b) { return product(a, b); };
    if (wants_x) {
      result[0] = times(rows, weight.t());
      if (grad.dim() != 2) {
        std::vector<int64_t> shape = grad.sizes().vec();
        shape.back() = weight.size(1);
        result[0] = result[0].reshape(shape);
      }
    }
    if (wants_weight) result[1] = times(rows.t(), rows_of(x).t());
    if (wants_bias) result[2] = at::sum(rows, 0);
    return result;
  }
  void release_variables() override {
    x_.reset_data();
    weight_.reset_data();
  }
  std::string name() const override { return "Linear"; }

  SavedVariable x_;
  SavedVariable weight_;
};

struct CrossEntropyBackward : public Node {
  variable_list apply(variable_list&& grads) override {
    if (!grads[0].defined()) return variable_list(1);
    const at::Tensor logits = logits_.unpack();
    if (c10::GradMode::is_enabled()) {
      // A gradient of the gradient: through ATen's own formula.
      const at::Tensor loss = at::cross_entropy_loss(logits, target_, {}, reduction_, ignore_index_);
      return torch::autograd::grad({loss}, {logits}, {grads[0]}, true, true);
    }
    const BelowAutograd below;
    const at::Tensor chosen =
        at::nll_loss_backward(grads[0], log_probs_, target_, {}, reduction_, ignore_index_, total_weight_);
    return {at::_log_softmax_backward_data(chosen, log_probs_, 1, log_probs_.scalar_type())};
  }
  void release_variables() override {
    logits_.reset_data();
    log_probs_ = at::Tensor();
  }
  std::string name() const override { return "CrossEntropy"; }

  SavedVariable logits_;
  at::Tensor log_probs_;
  at::Tensor target_;
  at::Tensor total_weight_;
  int64_t reduction_ = 0;
  int64_t ignore_index_ = 0;
};

}  // namespace

at::Tensor linear_node(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  at::Tensor y;
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    y = product(rows_of(x), weight, bias);
    if (x.dim() != 2) {
      std::vector<int64_t> shape = x.sizes().vec();
      shape.back() = weight.size(0);
      y = y.reshape(shape);
    }
  }
  if (c10::GradMode::is_enabled() && (is_recorded(x) || is_recorded(weight) || is_recorded(bias))) {
    const std::shared_ptr<LinearBackward> node(new LinearBackward(), torch::autograd::deleteNode);
    node->set_next_edges(torch::autograd::collect_next_edges(x, weight, bias));
    if (is_recorded(weight)) node->x_ = SavedVariable(x, false);
    if (is_recorded(x)) node->weight_ = SavedVariable(weight, false);
    torch::autograd::set_history(y, node);
  }
  return y;
}

at::Tensor cross_entropy_node(const at::Tensor& logits, const at::Tensor& target, int64_t reduction,
                              int64_t ignore_index) {
  at::Tensor log_probs, loss, total_weight;
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    log_probs = at::_log_softmax(logits, 1, false);
    std::tie(loss, total_weight) = at::nll_loss_forward(log_probs, target, {}, reduction, ignore_index);
  }
  if (c10::GradMode::is_enabled() && is_recorded(logits)) {
    const std::shared_ptr<CrossEntropyBackward> node(new CrossEntropyBackward(), torch::autograd::deleteNode);
    node->set_next_edges(torch::autograd::collect_next_edges(logits));
    node->logits_ = SavedVariable(logits, false);
    node->log_probs_ = log_probs;
    node->target_ = target;
    node->total_weight_ = total_weight;
    node->reduction_ = reduction;
    node->ignore_index_ = ignore_index;
    torch::autograd::set_history(loss, node);
  }
  return loss;
}

}  // namespace ltr
