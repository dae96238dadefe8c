#include "runtime/checkpoint/archive.h"

#include <ATen/ATen.h>

#include <cstdlib>

#include "runtime/api/error.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/dtype.h"

namespace ltr {

namespace {

/// What stands in the place of a part that the checkpoint lacks.
const nlohmann::json kNothing;

}  // namespace

nlohmann::json exact(double value) { return fmt::format("{}", value); }

double exact(const nlohmann::json& value) { return std::strtod(value.get<Str>().c_str(), nullptr); }

void Archive::value(const Str& name, uint64_t& number) {
  auto whole = int64_t(number);
  value(name, whole);
  number = uint64_t(whole);
}

void SaveArchive::value(const Str& name, double& value) { (*place_.back())[name] = exact(value); }

LoadArchive::LoadArchive(const nlohmann::json& manifest, StoredState state, Str path)
    : stored_(std::move(state)), path_(std::move(path)), place_{&manifest} {}

LoadArchive::LoadArchive(const CheckpointData& data) : place_{&data.manifest} {
  for (const NamedTensor& named : data.train) stored_.tensors.emplace(named.name, named.tensor);
  for (const SlicedTensor& sliced : data.share.slices) slices_.emplace(sliced.name, sliced.tensor);
}

const nlohmann::json& LoadArchive::find(const Str& name) const {
  if (!has(name)) throw error_here(err::checkpoint_damaged, path_, fmt::format("checkpoint.json lacks {}", name));
  return (*place_.back())[name];
}

void LoadArchive::value(const Str& name, int64_t& value) { value = find(name).get<int64_t>(); }

void LoadArchive::value(const Str& name, double& value) { value = exact(find(name)); }

void LoadArchive::value(const Str& name, bool& value) { value = find(name).get<bool>(); }

void LoadArchive::value(const Str& name, Str& value) { value = find(name).get<Str>(); }

void LoadArchive::check_fits(const Str& name, at::IntArrayRef there, at::ScalarType type_there, at::IntArrayRef here,
                             at::ScalarType type_here) const {
  if (there == here && type_there == type_here) return;
  throw error_here(err::checkpoint_misfit, fmt::format("{} is {} in {}, {} here", name, shape_text(type_there, there),
                                                       path_, shape_text(type_here, here)));
}

void LoadArchive::tensor(const Str& name, at::Tensor& tensor) {
  at::Tensor saved;
  if (const auto found = stored_.tensors.find(name); found != stored_.tensors.end()) {
    saved = found->second;
  } else if (const auto parted = stored_.parted.find(name); parted != stored_.parted.end()) {
    saved = parted->second.whole();
  } else {
    throw error_here(err::checkpoint_misfit, fmt::format("{} has no tensor {}", path_, name));
  }
  if (!tensor.defined()) {
    tensor = saved.to(run_device(), saved.scalar_type(), false, true);
    return;
  }
  check_fits(name, saved.sizes(), saved.scalar_type(), tensor.sizes(), tensor.scalar_type());
  tensor.copy_(saved);
}

void LoadArchive::slice(const Str& name, at::Tensor& own, const Slice& slice) {
  at::Tensor values;
  if (const auto here = slices_.find(name); here != slices_.end()) {
    values = here->second;
  } else if (const auto parted = stored_.parted.find(name); parted != stored_.parted.end()) {
    const PartedTensor& saved = parted->second;
    check_fits(name, saved.sizes, saved.parts.front().values.scalar_type(), slice.sizes, slice.type);
    if (own.defined()) values = saved.elements(slice.begin, slice.end);
  } else if (const auto found = stored_.tensors.find(name); found != stored_.tensors.end()) {
    check_fits(name, found->second.sizes(), found->second.scalar_type(), slice.sizes, slice.type);
    values = found->second.flatten().narrow(0, slice.begin, slice.end - slice.begin);
  } else {
    throw error_here(err::checkpoint_misfit, fmt::format("{} has no tensor {}", path_, name));
  }
  if (own.defined()) own.copy_(values.view(own.sizes()));
}

bool LoadArchive::has(const Str& name) const { return place_.back()->is_object() && place_.back()->contains(name); }

std::vector<Str> LoadArchive::names() const {
  std::vector<Str> list;
  if (!place_.back()->is_object()) return list;
  for (const auto& [name, value] : place_.back()->items()) list.push_back(name);
  return list;
}

std::vector<Str> LoadArchive::tensor_names() const {
  std::vector<Str> list;
  for (const auto& [name, tensor] : stored_.tensors) list.push_back(name);
  for (const auto& [name, tensor] : stored_.parted) list.push_back(name);
  for (const auto& [name, tensor] : slices_) list.push_back(name);
  return list;
}

at::Tensor LoadArchive::shape_of(const Str& name) const {
  if (const auto found = stored_.tensors.find(name); found != stored_.tensors.end()) {
    return at::empty(found->second.sizes(), at::device(at::kMeta).dtype(found->second.scalar_type()));
  }
  const auto parted = stored_.parted.find(name);
  if (parted == stored_.parted.end()) return {};
  return at::empty(parted->second.sizes,
                   at::device(at::kMeta).dtype(parted->second.parts.front().values.scalar_type()));
}

void LoadArchive::enter(const Str& name) { place_.push_back(has(name) ? &(*place_.back())[name] : &kNothing); }

void LoadArchive::enter(size_t index) {
  const nlohmann::json& list = *place_.back();
  place_.push_back(list.is_array() && index < list.size() ? &list[index] : &kNothing);
}

}  // namespace ltr
