#include "runtime/plan/loss_gradient.h"

#include <utility>

namespace ltr::plan {

namespace {

thread_local std::pair<const void*, LossGradient*> here{nullptr, nullptr};

}  // namespace

LossGradient* LossGradient::of(const at::Tensor& loss) {
  return here.first == loss.unsafeGetTensorImpl() ? here.second : nullptr;
}

LossGradient::Scope::Scope(const at::Tensor& loss, LossGradient& gradient) {
  here = {loss.unsafeGetTensorImpl(), &gradient};
}

LossGradient::Scope::~Scope() { here = {nullptr, nullptr}; }

}  // namespace ltr::plan
