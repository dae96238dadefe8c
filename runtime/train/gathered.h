#pragma once

// What autograd sees of weights that ranks divide. A weight is read through `use`, which gives it whole for as long as
// somebody holds that; the graph keeps no memory of it, but gathers it again when its turn comes backward.

#include <ATen/core/Tensor.h>

#include "runtime/train/graph_memory.h"

namespace ltr {

class Division;

/// The one whose weights this thread reads, null where it reads them as they are.
Division* read_division();

/// While it lives, `use` reads the weights of `division` in this thread.
class GatheredScope {
 public:
  explicit GatheredScope(Division& division);
  ~GatheredScope();
  GatheredScope(const GatheredScope&) = delete;
  GatheredScope& operator=(const GatheredScope&) = delete;

 private:
  Division* before_;
  GraphMemory memory_;
};

/// The weight whole, if it is divided, without a gradient; else as it is.
at::Tensor whole_value(const at::Tensor& weight);
/// The weight becomes `values`, the same on all ranks.
void set_whole_value(const at::Tensor& weight, const at::Tensor& values);

}  // namespace ltr
