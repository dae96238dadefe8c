#include "runtime/tensor/joint_norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "runtime/api/error.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"

namespace ltr {

namespace {

thread_local const JointSum* current_sum = nullptr;

std::vector<int64_t> all_but_channels(const at::Tensor& x) {
  std::vector<int64_t> axes{0};
  for (int64_t axis = 2; axis < x.dim(); axis++) axes.push_back(axis);
  return axes;
}

/// [C] as it broadcasts over [B, C, …].
at::Tensor over_channels(const at::Tensor& values, const at::Tensor& x) {
  std::vector<int64_t> shape(size_t(x.dim()), 1);
  shape[1] = values.numel();
  return values.view(shape);
}

struct Statistics {
  at::Tensor mean, var;  ///< [C], f64; the variance divides by n
  double count = 0;
};

/// Counts, sums and sums of squares of all processes, in f64.
Statistics joint_statistics(const JointSum& joint, const at::Tensor& x) {
  const int64_t channels = x.size(1);
  const double own = joint.counts ? double(x.numel() / channels) : 0;
  auto [var, mean] = at::var_mean(x, all_but_channels(x), 0);
  mean = mean.to(at::kDouble);
  const at::Tensor sums =
      at::cat({at::full({1}, own, mean.options()), mean * own, (var.to(at::kDouble) + mean * mean) * own});
  joint.sum(sums);
  Statistics all;
  all.count = read_number(sums[0]);
  all.mean = sums.narrow(0, 1, channels) / all.count;
  all.var = (sums.narrow(0, 1 + channels, channels) / all.count - all.mean * all.mean).clamp_min(0);
  return all;
}

class JointNorm : public torch::autograd::Function<JointNorm> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& mean, const at::Tensor& inverse, double count,
                            const JointSum& joint) {
    context->save_for_backward({x, weight, mean, inverse});
    context->saved_data["count"] = count;
    context->saved_data["has_bias"] = bias.defined();
    context->saved_data["sum"] = int64_t(reinterpret_cast<intptr_t>(&joint));
    const at::Tensor scale = weight.defined() ? inverse * weight : inverse;
    const at::Tensor shift = bias.defined() ? bias - mean * scale : -mean * scale;
    return at::addcmul(over_channels(shift, x), x, over_channels(scale, x));
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse = saved[3];
    const JointSum& joint = *reinterpret_cast<const JointSum*>(intptr_t(context->saved_data["sum"].toInt()));
    const at::Tensor& gradient = gradients[0];
    const std::vector<int64_t> axes = all_but_channels(x);
    const at::Tensor centered = x - over_channels(mean, x);
    const at::Tensor sum = gradient.sum(axes);
    const at::Tensor product = (gradient * centered).sum(axes);
    const at::Tensor all = at::cat({sum, product});
    joint.sum(all);
    const int64_t channels = x.size(1);
    const at::Tensor means = all / context->saved_data["count"].toDouble();
    const at::Tensor mean_gradient = means.narrow(0, 0, channels);
    const at::Tensor slope = means.narrow(0, channels, channels) * inverse * inverse;
    const at::Tensor scale = weight.defined() ? inverse * weight : inverse;
    at::Tensor of_x = gradient;
    // What stands in is no part of the mean and variance that the others were divided by.
    if (joint.counts) of_x = of_x - over_channels(mean_gradient, x) - centered * over_channels(slope, x);
    of_x = of_x * over_channels(scale, x);
    return {of_x,
            weight.defined() ? product * inverse : at::Tensor(),
            context->saved_data["has_bias"].toBool() ? sum : at::Tensor(),
            {},
            {},
            {},
            {}};
  }
};

}  // namespace

const JointSum* joint_sum() { return current_sum; }

JointSumScope::JointSumScope(const JointSum* sum) : before_(std::exchange(current_sum, sum)) {}

JointSumScope::~JointSumScope() { current_sum = before_; }

at::Tensor joint_batch_norm(const JointSum& joint, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& running_mean, const at::Tensor& running_var,
                            double momentum, double eps) {
  const at::Tensor input = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  Statistics all;
  {
    const NoGrad no_grad;
    all = joint_statistics(joint, input.detach());
    if (all.count <= 1) {
      throw error_here(err::shape_check_failed,
                       "batch norm trains on more than one value for each channel, and the batch of "
                       "all ranks has one");
    }
    running_mean.mul_(1 - momentum).add_(all.mean, momentum);
    running_var.mul_(1 - momentum).add_(all.var, momentum * all.count / (all.count - 1));
  }
  const at::Tensor mean = all.mean.to(input.scalar_type());
  const at::Tensor inverse = at::rsqrt(all.var + eps).to(input.scalar_type());
  const auto as_input = [&](const at::Tensor& one) { return one.defined() ? one.to(input.scalar_type()) : one; };
  return JointNorm::apply(input, as_input(weight), as_input(bias), mean, inverse, all.count, joint).to(x.scalar_type());
}

}  // namespace ltr
