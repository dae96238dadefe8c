#pragma once

#include <string>
#include <vector>

#include "doors/mapping.h"
#include "doors/safetensors.h"

namespace ltr::doors {

/// A tensor of a PyTorch file. `data` is its first element; with `strides` empty its elements
/// follow in C order.
struct TorchTensor {
  TensorEntry entry;
  std::vector<int64_t> strides;
};

/// The tensors of the archive at `path`: those of its part `part`, or, for "", of the first that
/// maps names to tensors among state_dict, model_state_dict, model, module, and the whole.
/// WeightsError for what cannot be used.
std::vector<TorchTensor> read_torch(const std::string& path,
                                    const Mapping& file,
                                    const std::string& part);

}  // namespace ltr::doors
