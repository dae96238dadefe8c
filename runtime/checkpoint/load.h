#pragma once

#include <ATen/core/Tensor.h>

#include <map>

#include "runtime/train/trainer.h"

namespace ltr {

/// Whether tensors of another type fit: a run goes on only from what it wrote, weights may come from anywhere.
enum class WeightTypes { Same, Convert };

/// Copies `tensors` into the weights and buffers of the same paths; R2010 lists missing, unexpected and differing ones.
/// Floats convert to floats only if `types` says so.
void take_weights(ModelRoot& root, const std::map<Str, at::Tensor>& tensors, const Str& source,
                  WeightTypes types = WeightTypes::Same);

/// The state of training in a checkpoint, averaged weights included.
std::map<Str, at::Tensor> read_state(const Str& path);

}  // namespace ltr
