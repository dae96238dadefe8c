#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "ltr/ops.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/joint_norm.h"
#include "runtime/tensor/mode.h"
#include "runtime/tensor/norm_means.h"
#include "runtime/tensor/precision.h"

namespace ltr {

namespace {

/// Strides of images with an axis of 1 may tell two orders. LibTorch's gradient of a batch norm takes one for the images and the other for
/// what it is given, and is that of other elements, without a word. Lines have one order.
template <class Norm>
at::Tensor in_one_order(const at::Tensor& x, const Norm& norm) {
  const bool has_two_orders = x.dim() == 4 && std::ranges::count(x.sizes(), 1) > 0;
  return has_two_orders ? norm(x.flatten(2)).reshape(x.sizes()) : norm(x);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return guarded([&] {
    const at::Tensor input = wide(In(x));
    return give(at::layer_norm(input, {input.size(-1)}, optional_aten(weight), optional_aten(bias), eps));
  });
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, Option<double> eps) {
  return guarded([&] {
    const at::Tensor input = wide(In(x));
    const double added = eps.value_or(input.scalar_type() == at::kDouble ? std::numeric_limits<double>::epsilon()
                                                                         : std::numeric_limits<float>::epsilon());
    const at::Tensor normed = input * at::rsqrt(at::mean(at::square(input), -1, true) + added);
    return give(weight.defined() ? normed * *In(weight) : normed);
  });
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  return guarded([&] {
    const at::Tensor added = aten(bias);
    // Without a weight LibTorch has no gradient of a bias.
    const std::optional<at::Tensor> factor =
        added.defined() && !weight.defined() ? at::ones_like(added) : optional_aten(weight);
    return give(at::group_norm(wide(In(x)), groups, factor, optional_aten(bias), eps));
  });
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return guarded([&] {
    return give(in_one_order(wide(In(x)), [&](const at::Tensor& values) {
      return at::instance_norm(values, optional_aten(weight), optional_aten(bias), {}, {}, true, 0.0, eps, false);
    }));
  });
}

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& var,
                  const Tensor& seen, double momentum, double eps) {
  return guarded([&] {
    NormMeans* const means = is_training() ? NormMeans::here() : nullptr;
    const double part = means != nullptr ? means->part(aten(mean), aten(var), aten(seen)) : momentum;
    if (const JointSum* joint = joint_sum(); joint != nullptr && is_training()) {
      {
        const NoGrad no_grad;
        In(seen)->add_(1);
      }
      return give(joint_batch_norm(*joint, aten(x), aten(weight), aten(bias), aten(mean), aten(var), part, eps));
    }
    if (is_training()) {
      const In values(x);
      if (values->numel() == values->size(1)) {
        throw with_help(error_at(current_location(), err::shape_check_failed,
                                 "batch norm trains on more than one value for each channel, and this batch has one"),
                        "a last batch of one record: `collate(size, drop_last = true)`, or another batch size");
      }
      const NoGrad no_grad;
      // A plan that computes a block again has none of the three: they took the batch in when it ran.
      if (seen.defined()) In(seen)->add_(1);
    }
    // LibTorch writes the running values and does not say so. What its graph keeps of them has a count of its own, or a second
    // call in the same step would be a change that the first one's backward pass minds. Where a gradient passes what only reads them it is
    // that of the values that were there, whoever moves them behind it.
    const bool is_held = !is_training() && at::GradMode::is_enabled() && In(x)->requires_grad();
    const auto running = [&](const Tensor& tensor) {
      if (tensor.defined() && is_held) return In(tensor)->clone();
      if (!tensor.defined() || !is_training()) return aten(tensor);
      In(tensor)->unsafeGetTensorImpl()->bump_version();
      return In(tensor)->variable_data();
    };
    return give(in_one_order(aten(x), [&](const at::Tensor& values) {
      return at::batch_norm(values, optional_aten(weight), optional_aten(bias), running(mean), running(var),
                            is_training(), part, eps, false);
    }));
  });
}

}  // namespace ltr
