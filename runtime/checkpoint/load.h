#pragma once

#include <ATen/core/Tensor.h>

#include <map>

#include "runtime/checkpoint/tensors.h"
#include "runtime/train/trainer.h"

namespace ltr {

/// Whether tensors of another type fit: a run goes on only from what it wrote, weights may come from anywhere.
enum class WeightTypes { Same, Convert };

/// R2010 unless `tensors` are the weights and buffers of `root`: it lists missing, unexpected and differing ones. Floats
/// fit floats of another width only if `types` says so.
void check_weights(const ModelRoot& root, const std::map<Str, at::Tensor>& tensors, const Str& source,
                   WeightTypes types);

/// Copies `tensors` into the weights and buffers of the same paths, if they fit as `check_weights` asks.
void take_weights(ModelRoot& root, const std::map<Str, at::Tensor>& tensors, const Str& source,
                  WeightTypes types = WeightTypes::Same);

/// The state of training in a checkpoint, averaged weights included.
StoredState read_state(const Str& path);

}  // namespace ltr
