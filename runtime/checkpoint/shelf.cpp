#include "runtime/checkpoint/shelf.h"

#include <ATen/ATen.h>

#include "runtime/tensor/device.h"

namespace ltr {

void Shelf::put(CheckpointData& data) {
  taken_.clear();
  const auto put_all = [&](const char* kind, auto& tensors) {
    for (auto& one : tensors) one.tensor = copy(kind + one.name, one.tensor);
  };
  put_all("weights ", data.weights);
  put_all("averages ", data.averages);
  put_all("train ", data.train);
  put_all("own weights ", data.share.weights);
  put_all("own averages ", data.share.averages);
  for (SlicedTensor& one : data.share.slices) {
    if (one.slice.is_written) one.tensor = copy("slices " + one.name, one.tensor);
  }
  std::erase_if(places_, [&](const auto& place) { return !taken_.contains(place.first); });
  // Copies from a device are queued one behind the other and waited for once.
  if (accelerator() != nullptr) accelerator()->mark()->wait();
}

at::Tensor Shelf::copy(const Str& place, const at::Tensor& tensor) {
  taken_.insert(place);
  const bool is_on_device = comes_later(tensor);
  at::Tensor& mine = places_[place];
  if (!mine.defined() || mine.sizes() != tensor.sizes() || mine.scalar_type() != tensor.scalar_type()) {
    mine = is_on_device ? accelerator()->host_memory(tensor.sizes(), tensor.scalar_type())
                        : at::empty(tensor.sizes(), tensor.scalar_type());
  }
  mine.copy_(tensor.detach(), is_on_device);
  return mine;
}

}  // namespace ltr
