#pragma once

#include <string>
#include <vector>

#include "doors/mapping.h"
#include "doors/safetensors.h"
#include "doors/zip.h"

namespace ltr::doors {

/// A tensor of a PyTorch file. `data` is its first element; with `strides` empty its elements
/// follow in C order. It lies in `storage`, whose CRC is not compared yet: that reads all of it.
struct TorchTensor {
  TensorEntry entry;
  std::vector<int64_t> strides;
  ZipEntry storage;
};

/// The tensors of the archive at `path`: those of its part `part`, or, for "", of the first that
/// maps names to tensors among state_dict, model_state_dict, model, module, and the whole.
/// WeightsError for what cannot be used.
std::vector<TorchTensor> read_torch(const std::string& path, const Mapping& file, const std::string& part);

/// WeightsError if the bytes of an entry are not those that were written.
void check_crc(const Mapping& file, const ZipEntry& entry);

}  // namespace ltr::doors
