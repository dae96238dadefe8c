#include "runtime/checkpoint/tensors.h"

#include <ATen/ATen.h>

#include <cstring>
#include <system_error>

#include "doors/safetensors.h"
#include "doors/weights_file.h"
#include "runtime/api/error.h"
#include "runtime/checkpoint/weights_file.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/host_read.h"

namespace ltr {

Str write_tensors(const Str& path, const std::vector<NamedTensor>& tensors) {
  std::vector<at::Tensor> kept;  // contiguous copies live until the file is written
  std::vector<doors::TensorEntry> entries;
  for (const NamedTensor& named : tensors) {
    at::Tensor tensor = on_host(named.tensor).contiguous();
    entries.push_back({named.name, stored_name(tensor.scalar_type()), tensor.sizes().vec(), tensor.const_data_ptr(),
                       tensor.nbytes()});
    kept.push_back(std::move(tensor));
  }
  doors::Sha256 digest;
  doors::write_safetensors(path, std::move(entries), {{"format", "pt"}}, &digest);
  return digest.hex();
}

std::map<Str, at::Tensor> read_tensors(const Str& file) {
  if (!doors::WeightsFile::exists(file)) throw error_at({}, err::checkpoint_misfit, fmt::format("no file {}", file));
  try {
    doors::WeightsFile tensors = doors::WeightsFile::open(file);
    std::map<Str, at::Tensor> result;
    for (const doors::TensorEntry& entry : tensors.tensors()) {
      const auto type = stored_type(entry.dtype);
      if (!type) {
        throw error_at({}, err::checkpoint_damaged, file, fmt::format("{} has the type {}", entry.name, entry.dtype));
      }
      at::Tensor tensor = at::empty(entry.shape, *type);
      if (entry.bytes > 0) std::memcpy(tensor.mutable_data_ptr(), tensors.bytes_of(entry), entry.bytes);
      result.emplace(entry.name, std::move(tensor));
    }
    return result;
  } catch (const doors::WeightsError& error) {
    throw unreadable(error, file, {});
  } catch (const doors::FormatError& error) {
    throw error_at({}, err::checkpoint_damaged, file, error.what());
  } catch (const std::system_error& error) {
    throw error_at({}, err::checkpoint_misfit, fmt::format("{} cannot be read: {}", file, error.code().message()));
  }
}

}  // namespace ltr
