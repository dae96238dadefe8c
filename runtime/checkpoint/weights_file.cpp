#include "runtime/checkpoint/weights_file.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "doors/weight_plan.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Name here and name in the file of every tensor. What does not fit keeps its name: who takes the weights lists it.
std::vector<std::pair<Str, Str>> paired(const std::vector<doors::Wanted>& wanted, const std::vector<Str>& stored) {
  const doors::LoadPlan plain = doors::plan_load(wanted, stored, {});
  if (!plain.missing.empty() && !plain.rename_from.empty()) {
    using Kind = doors::LoadRule::Kind;
    doors::LoadPlan renamed = doors::plan_load(wanted, stored, {{Kind::Rename, plain.rename_from, plain.rename_to}});
    // Of names that fit but for a few, those few are what is wrong.
    for (const Str& name : renamed.unexpected) renamed.loads.emplace_back(name, name);
    if (renamed.missing.size() < plain.missing.size()) return std::move(renamed.loads);
  }
  std::vector<std::pair<Str, Str>> pairs;
  for (const Str& name : stored) pairs.emplace_back(name, name);
  return pairs;
}

}  // namespace

Str listed(const std::vector<Str>& names) {
  constexpr size_t kShown = 8;
  const size_t shown = std::min(names.size(), kShown);
  Str text = fmt::format("{}", fmt::join(names.begin(), names.begin() + ptrdiff_t(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

Str misfit(const doors::TensorEntry& stored, const at::Tensor& mine) {
  const auto type = stored_type(stored.dtype);
  const bool converts =
      type && (*type == mine.scalar_type() || (at::isFloatingType(*type) && mine.is_floating_point()));
  if (converts && mine.sizes() == at::IntArrayRef(stored.shape)) return "";
  return fmt::format("{}[{}] there, {}[{}] here", stored.dtype, fmt::join(stored.shape, ", "),
                     to_text(dtype_of(mine.scalar_type())), fmt::join(mine.sizes().vec(), ", "));
}

Str conversion_note(const Str& source, const std::vector<Str>& converted) {
  return fmt::format("{}: floats of another width are converted: {}", source, listed(converted));
}

Str nan_note(const Str& source, const std::vector<Str>& names) {
  return fmt::format("{}: there is nan in {}", source, listed(names));
}

Error unreadable(const doors::WeightsError& error, const Str& shown, const Location& location) {
  if (error.kind == doors::WeightsError::Kind::Damaged) {
    return error_at(location, err::checkpoint_damaged, shown,
                    fmt::format("{} (at byte {})", error.what(), error.offset));
  }
  Str text = fmt::format("{}: {}", shown, error.what());
  if (!error.callables.empty()) text += ": " + listed(error.callables);
  return with_help(error_at(location, err::checkpoint_misfit, text), error.cure);
}

doors::WeightsFile open_weights(const Str& path, const Str& shown, const Location& location) {
  try {
    return doors::WeightsFile::open(path);
  } catch (const doors::WeightsError& error) {
    throw unreadable(error, shown, location);
  } catch (const std::exception& error) {
    throw error_at(location, err::checkpoint_misfit, fmt::format("{}: {}", shown, error.what()));
  }
}

at::Tensor borrow_tensor(doors::WeightsFile& file, const doors::TensorEntry& stored, const Str& shown,
                         const Location& location) {
  const at::ScalarType type = stored_type(stored.dtype).value();
  if (stored.bytes == 0) return at::empty(stored.shape, type);
  // Pages of the file are only read, though ATen knows no tensor that cannot be written.
  try {
    return at::from_blob(const_cast<void*>(file.bytes_of(stored)), stored.shape, type);
  } catch (const doors::WeightsError& error) {
    throw unreadable(error, shown, location);
  }
}

std::map<Str, at::Tensor> read_weights(const Str& path, const std::map<Str, at::Tensor>& wanted) {
  doors::WeightsFile file = open_weights(path, path, {});
  std::map<Str, const doors::TensorEntry*> stored;
  std::vector<Str> names;
  for (const doors::TensorEntry& tensor : file.tensors()) {
    stored[tensor.name] = &tensor;
    names.push_back(tensor.name);
  }
  std::vector<doors::Wanted> here;
  for (const auto& [name, tensor] : wanted) here.push_back({name, ""});
  std::map<Str, at::Tensor> tensors;
  std::vector<Str> differing;
  for (const auto& [name, there] : paired(here, names)) {
    const doors::TensorEntry& entry = *stored.at(there);
    const auto mine = wanted.find(name);
    if (mine == wanted.end() || mine->second.sizes() != at::IntArrayRef(entry.shape)) {
      // Whoever takes the weights refuses it by name and shape; its bytes are not read.
      const at::ScalarType type = stored_type(entry.dtype).value_or(at::kByte);
      tensors.emplace(name, at::empty(entry.shape, at::TensorOptions().dtype(type).device(at::kMeta)));
      continue;
    }
    const Str why = misfit(entry, mine->second);
    if (!why.empty()) {
      differing.push_back(fmt::format("{} is {}", name, why));
      continue;
    }
    tensors.emplace(name, borrow_tensor(file, entry, path, {}).clone());
  }
  if (!differing.empty()) {
    throw error_at({}, err::checkpoint_misfit,
                   fmt::format("{} does not fit the model: differing {}", path, listed(differing)));
  }
  return tensors;
}

}  // namespace ltr
