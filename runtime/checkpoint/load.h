#pragma once

#include <ATen/core/Tensor.h>

#include <map>

#include "runtime/train/trainer.h"

namespace ltr {

/// The first eight names, then how many more.
Str listed(const std::vector<Str>& names);

/// Copies `tensors` into the weights and buffers of the same paths; R2010 lists missing, unexpected and differing ones.
void take_weights(ModelRoot& root, const std::map<Str, at::Tensor>& tensors, const Str& source);

}  // namespace ltr
