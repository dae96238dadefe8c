#include <ATen/ATen.h>

#include "ltr/api.h"
#include "runtime/optim/optimizer.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/step_watch.h"
#include "runtime/train/gathered.h"

namespace ltr {

bool operator==(const Weights& left, const Weights& right) {
  refuse_plan(Unplanned::HostRead);
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); i++) {
    const In a(left[i].tensor), b(right[i].tensor);
    if (left[i].path != right[i].path || a->sizes() != b->sizes()) return false;
    if (!guarded([&] { return at::equal(whole_value(a), whole_value(b)); })) return false;
  }
  return true;
}

Weights operator+(Weights left, const Weights& right) {
  for (const Weight& weight : right) {
    bool is_known = false;
    for (const Weight& known : left) is_known = is_known || known.tensor.impl() == weight.tensor.impl();
    if (!is_known) left.push_back(weight);
  }
  return left;
}

Weights weights_of(const Scope& place) { return place.weights(); }

Weights clone(const Weights& weights) {
  return guarded([&] {
    Weights copy;
    for (const Weight& weight : weights)
      copy.push_back({weight.path, give(whole_value(In(weight.tensor)).detach().clone())});
    return copy;
  });
}

void ema_update(const Weights& target, const Weights& source, double decay) {
  const auto fail = [](const std::string& text) { throw error_here(err::shape_check_failed, text); };
  if (target.size() != source.size())
    fail(std::to_string(target.size()) + " weights cannot follow " + std::to_string(source.size()));
  guarded([&] {
    const NoGrad no_grad;
    for (size_t i = 0; i < target.size(); ++i) {
      at::Tensor to = In(target[i].tensor);
      const at::Tensor from = In(source[i].tensor);
      if (to.sizes() != from.sizes())
        fail(fmt::format("weight {} of [{}] cannot follow one of [{}]", i + 1, fmt::join(to.sizes(), ", "),
                         fmt::join(from.sizes(), ", ")));
      set_whole_value(to, at::lerp(whole_value(to), whole_value(from).to(to.scalar_type()), 1 - decay));
    }
    return 0;
  });
}

int64_t count(const Weights& weights) {
  int64_t total = 0;
  for (const Weight& weight : weights) total += In(weight.tensor)->numel();
  return total;
}

Tensor norm(const Tensors& tensors) {
  return guarded([&] {
    std::vector<at::Tensor> squares;
    for (const Tensor& tensor : tensors) {
      if (tensor.defined()) squares.push_back(at::linalg_vector_norm(In(tensor)));
    }
    return give(squares.empty() ? at::zeros({}) : at::linalg_vector_norm(at::stack(squares)));
  });
}

Tensors grads_of(const Optimizer& optimizer) {
  refuse_plan(Unplanned::GradientsRead);
  return guarded([&] {
    const std::vector<at::Tensor> gradients = optimizer.whole_gradients();
    Tensors list;
    for (size_t i = 0; i < gradients.size(); i++) {
      list.push_back(give(gradients[i].defined() ? gradients[i] : at::zeros_like(In(optimizer.weights()[i].tensor))));
    }
    return list;
  });
}

Weights weights_of(const Optimizer& optimizer) { return optimizer.weights(); }

Str optimizer_name(const Optimizer& optimizer) { return optimizer.name(); }

double optimizer_lr(const Optimizer& optimizer, int64_t step) {
  refuse_plan(Unplanned::RateRead);
  return optimizer.rate(step);
}

Optimizer* optimizer_of(const Context& cx, const Location& location) {
  if (cx.optimizer != nullptr) return cx.optimizer;
  throw error_at(location, err::shape_check_failed,
                 "there is no `optimizer` here: a manual `backward` belongs to none");
}

Frozen::Frozen(const Weights& weights) : was_training_(set_training(false)) {
  for (const Weight& weight : weights) {
    if (!In(weight.tensor)->requires_grad()) continue;
    weights_.push_back(weight);
    In(weight.tensor)->set_requires_grad(false);
  }
}

Frozen::~Frozen() {
  for (const Weight& weight : weights_) In(weight.tensor)->set_requires_grad(true);
  set_training(was_training_);
}

}  // namespace ltr
