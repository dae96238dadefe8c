#pragma once

// Gradients of a loss by an optimizer's weights, added into them.

#include <memory>
#include <vector>

#include "runtime/optim/optimizer.h"
#include "runtime/train/loss_scale.h"
#include "runtime/train/ranks.h"

namespace torch::autograd {
struct Node;
}

namespace ltr {

/// The backward passes of one model.
class Backward {
 public:
  Backward(const ModelRoot& root, const LossScale& scale);
  ~Backward();

  /// Adds `share` times the gradient of the scalar `loss`, by the loss scale, into the weights of `optimizer`, into all weights if it is
  /// null. `keep_graph`: a later minimize of this step needs it.
  void run(const at::Tensor& loss, double share, const Optimizer* optimizer, bool keep_graph);
  /// A leaf and its gradient, whatever the loss. Both may be undefined.
  struct Given {
    at::Tensor leaf, gradient;
  };
  /// The same, and the sum over ranks goes with it. `unreached` get a gradient of zeros; an undefined `loss` reaches none.
  void run_summed(const at::Tensor& loss, double share, const Optimizer& optimizer, bool keep_graph,
                  const std::vector<at::Tensor>& unreached, const Given& given, GradientSum& sum);
  /// Other weights need gradients than before.
  void trains_changed();
  /// Whether `loss` has a gradient by some weight.
  static bool reaches(const at::Tensor& loss);
  /// The weights of `optimizer` that need a gradient and do not get one from `loss`; of an undefined loss all.
  std::vector<at::Tensor> unreached(const at::Tensor& loss, const Optimizer& optimizer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ltr
