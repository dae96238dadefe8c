#include "runtime/callbacks/weight_averages.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/optim/elements.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// An average is kept in f32, or wider if the weight is.
at::Tensor widened(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const bool is_narrow = tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
  return is_narrow ? tensor.detach().to(at::kFloat) : tensor.detach().clone();
}

void copy(const at::Tensor& from, at::Tensor& to) {
  const bool is_plain = from.is_cpu() && to.is_cpu() && from.is_contiguous() && to.is_contiguous() &&
                        from.scalar_type() == to.scalar_type() && from.sizes() == to.sizes();
  if (!is_plain) {
    to.copy_(from);
    return;
  }
  if (from.numel() > 0) std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
}

}  // namespace

void WeightAverages::take_in(double part, bool with_buffers, const at::Tensor& is_stopped) {
  const NoGrad no_grad;
  if (updates_++ == 0) {
    begin();
    return;
  }
  for (size_t i = 0; i < averages_.size(); i++) {
    const Entry& entry = root_.entries[i];
    const at::Tensor now = root_.own(aten(entry.tensor));
    if (!now.defined()) continue;
    const bool is_averaged = now.is_floating_point() && (entry.trained || with_buffers);
    if (is_stopped.defined()) {
      const at::Tensor fresh = now.to(averages_[i].scalar_type());
      averages_[i].copy_(at::where(is_stopped, averages_[i], is_averaged ? averages_[i].lerp(fresh, part) : fresh));
    } else if (!is_averaged) {
      copy(now, averages_[i]);
    } else if (!optim::lerp_by_kernel(averages_[i], now, float(part))) {
      averages_[i].lerp_(now.to(averages_[i].scalar_type()), part);
    }
  }
}

void WeightAverages::keep(const std::vector<at::Tensor>& of) {
  const NoGrad no_grad;
  for (size_t i = 0; i < averages_.size(); i++) {
    const at::Tensor now = aten(root_.entries[i].tensor);
    if (std::ranges::any_of(of, [&](const at::Tensor& one) { return one.is_same(now); })) averages_[i].copy_(now);
  }
}

void WeightAverages::put_in_place() {
  if (updates_ == 0) return;
  const NoGrad no_grad;
  for (const Entry& entry : root_.entries) {
    const at::Tensor now = root_.own(aten(entry.tensor));
    kept_.push_back(now.defined() ? now.clone() : now);
  }
  put(averages_);
}

void WeightAverages::put_back() {
  if (!kept_.empty()) put(std::exchange(kept_, {}));
}

void WeightAverages::put(const std::vector<at::Tensor>& values) const {
  const NoGrad no_grad;
  for (size_t i = 0; i < values.size(); i++) {
    if (values[i].defined()) root_.own(aten(root_.entries[i].tensor)).copy_(values[i]);
  }
  if (root_.division) root_.division->all_moved();
}

void WeightAverages::visit(Archive& archive) {
  archive.value("updates", updates_);
  if (updates_ == 0) return;
  if (archive.is_reading()) begin();
  for (size_t i = 0; i < averages_.size(); i++) {
    const Entry& entry = root_.entries[i];
    const at::Tensor weight = aten(entry.tensor);
    const at::ScalarType type = widened(at::empty({0}, weight.options())).scalar_type();
    root_.visit_own(archive, Str(kAveraged) + entry.path, weight, averages_[i],
                    at::empty(weight.sizes(), at::device(at::kMeta).dtype(type)));
  }
}

/// The first averages are the weights.
void WeightAverages::begin() {
  averages_.clear();
  for (const Entry& entry : root_.entries) averages_.push_back(widened(root_.own(aten(entry.tensor))));
}

}  // namespace ltr
