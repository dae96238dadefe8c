#pragma once

// Gradients of a loss by an optimizer's weights, added into them.

#include <memory>
#include <vector>

#include "runtime/optim/optimizer.h"

namespace torch::autograd {
struct Node;
}

namespace ltr {

/// The backward passes of one model.
class Backward {
 public:
  explicit Backward(const ModelRoot& root);
  ~Backward();

  /// Adds `share` times the gradient of the scalar `loss` into the weights of `optimizer`, into all weights if it is
  /// null. `keep_graph`: a later minimize of this step needs it.
  void run(const at::Tensor& loss, double share, const Optimizer* optimizer, bool keep_graph);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ltr
