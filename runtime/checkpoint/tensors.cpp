#include "runtime/checkpoint/tensors.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
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
    const auto tensors = std::make_shared<doors::WeightsFile>(doors::WeightsFile::open(file));
    std::map<Str, at::Tensor> result;
    for (const doors::TensorEntry& entry : tensors->tensors()) {
      const auto type = stored_type(entry.dtype);
      if (!type) {
        throw error_at({}, err::checkpoint_damaged, file, fmt::format("{} has the type {}", entry.name, entry.dtype));
      }
      // The file stays open for as long as one of its tensors is held.
      result.emplace(entry.name, entry.bytes == 0 ? at::empty(entry.shape, *type)
                                                  : at::from_blob(
                                                        const_cast<void*>(tensors->bytes_of(entry)), entry.shape,
                                                        [tensors](void*) {}, *type));
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

at::Tensor PartedTensor::elements(int64_t begin, int64_t end) const {
  at::Tensor found = at::empty({end - begin}, parts.front().values.options());
  for (const Part& part : parts) {
    const int64_t first = std::max(begin, part.begin), last = std::min(end, part.begin + part.values.numel());
    if (first < last)
      found.narrow(0, first - begin, last - first).copy_(part.values.narrow(0, first - part.begin, last - first));
  }
  return found;
}

at::Tensor PartedTensor::whole() const {
  return elements(0, std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>())).view(sizes);
}

}  // namespace ltr
