#include "runtime/train/loss_scale.h"

#include <ATen/ATen.h>

#include "runtime/tensor/device.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/precision.h"
#include "runtime/train/ranks.h"

namespace ltr {

LossScale::LossScale() {
  if (!precision().scales) return;
  scale_ = at::full({}, kFirst, at::TensorOptions(at::kFloat).device(compute_device()));
  good_ = at::zeros({}, scale_.options().dtype(at::kInt));
}

at::Tensor LossScale::begin(const at::Tensor& loss, double share) const {
  return (scale_ * share).to(loss.scalar_type()).expand(loss.sizes());
}

at::Tensor LossScale::unscale(const std::vector<at::Tensor>& grads, const Ranks& holders) {
  at::Tensor found = at::zeros_like(scale_);
  if (!grads.empty()) at::_amp_foreach_non_finite_check_and_unscale_(grads, found, at::reciprocal(scale_));
  // Of divided gradients each has a part; what is in one holds back all.
  if (holders.world() > 1) holders.sum_tensor(found);
  found_ = found_.defined() ? at::maximum(found_, found) : found;
  return found;
}

void LossScale::end_window() {
  if (!found_.defined()) return;
  at::_amp_update_scale_(scale_, good_, found_, 2.0, 0.5, kGoodWindows);
  found_ = at::Tensor();
}

void LossScale::visit(Archive& archive) {
  if (!is_on()) return;
  const Archive::Part part(archive, "loss_scale");
  // A run that had another precision before has none.
  if (archive.is_reading() && !archive.has("scale")) return;
  double scale = archive.is_reading() ? 0 : read_number(scale_);
  int64_t good = archive.is_reading() ? 0 : read_whole_number(good_);
  archive.value("scale", scale);
  archive.value("good_windows", good);
  if (!archive.is_reading()) return;
  scale_.fill_(scale);
  good_.fill_(good);
}

}  // namespace ltr
