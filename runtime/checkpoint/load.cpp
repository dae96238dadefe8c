#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/load.h"
#include "runtime/checkpoint/weights_file.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"
#include "runtime/train/gathered.h"
#include "runtime/train/root_state.h"

namespace ltr {

namespace fs = std::filesystem;

namespace {

bool fits(at::ScalarType there, at::ScalarType here, WeightTypes types) {
  return there == here || (types == WeightTypes::Convert && at::isFloatingType(there) && at::isFloatingType(here));
}

}  // namespace

void check_weights(const ModelRoot& root, const std::map<Str, at::Tensor>& tensors, const Str& source,
                   WeightTypes types) {
  std::vector<Str> missing, unexpected, differing;
  bool are_other_floats = types == WeightTypes::Same;  // which weights alone may become
  for (const Entry& entry : root.state().entries) {
    const auto found = tensors.find(entry.path);
    const In mine(entry.tensor);
    if (found == tensors.end()) {
      missing.push_back(entry.path);
    } else if (found->second.sizes() != mine->sizes() ||
               !fits(found->second.scalar_type(), mine->scalar_type(), types)) {
      differing.push_back(fmt::format("{} is {} there, {} here", entry.path,
                                      shape_text(found->second.scalar_type(), found->second.sizes()),
                                      shape_text(mine->scalar_type(), mine->sizes())));
      are_other_floats = are_other_floats && found->second.sizes() == mine->sizes() &&
                         fits(found->second.scalar_type(), mine->scalar_type(), WeightTypes::Convert);
    }
  }
  for (const auto& [name, tensor] : tensors) {
    const bool is_known = std::any_of(root.state().entries.begin(), root.state().entries.end(),
                                      [&](const Entry& entry) { return entry.path == name; });
    if (!is_known) unexpected.push_back(name);
  }
  if (!missing.empty() || !unexpected.empty() || !differing.empty()) {
    Str text = fmt::format("{} does not fit the model:", source);
    if (!missing.empty()) text += fmt::format(" missing {};", listed(missing));
    if (!unexpected.empty()) text += fmt::format(" unexpected {};", listed(unexpected));
    if (!differing.empty()) text += fmt::format(" differing {};", listed(differing));
    text.pop_back();
    const Error error = error_at({}, err::checkpoint_misfit, text);
    if (are_other_floats && missing.empty() && unexpected.empty())
      throw with_help(
          error,
          "a run goes on in the precision that it has; `--weights` begins a new one with these weights converted");
    throw error;
  }
}

void take_weights(ModelRoot& root, const std::map<Str, at::Tensor>& tensors, const Str& source, WeightTypes types) {
  check_weights(root, tensors, source, types);
  const NoGrad no_grad;
  std::vector<Str> converted, with_nan;
  for (const Entry& entry : root.state().entries) {
    const at::Tensor& value = tensors.at(entry.path);
    if (value.scalar_type() != In(entry.tensor)->scalar_type()) converted.push_back(entry.path);
    if (at::isnan(value).any().item<bool>()) with_nan.push_back(entry.path);
    set_whole_value(In(entry.tensor), value);
  }
  if (!converted.empty()) root.state().notes.push_back(conversion_note(source, converted));
  if (!with_nan.empty()) root.state().notes.push_back(nan_note(source, with_nan));
}

namespace {

/// The averages of `Ema` or `Swa` over the weights, if the checkpoint holds some.
void take_averages(ModelRoot& root, const Str& path) {
  const std::map<Str, at::Tensor> tensors = read_state(path).tensors;
  const NoGrad no_grad;
  for (const Entry& entry : root.state().entries) {
    const auto found = tensors.find(Str(kAveraged) + entry.path);
    if (found != tensors.end()) In(entry.tensor)->copy_(found->second);
  }
  // A signal may come between the end of an epoch and what `Swa` does then.
  const nlohmann::json callbacks = read_manifest(path).value("callbacks", nlohmann::json::object());
  const bool is_due = callbacks.contains("Swa#0") && callbacks["Swa#0"].value("are_norms_due", false);
  if (!is_due) return;
  root.state().notes.push_back(fmt::format(
      "the averages of {} have the batch norms of training: the run was stopped before they saw the stream", path));
}

}  // namespace

StoredState read_state(const Str& path) {
  StoredState state;
  if (fs::exists(path + "/train.safetensors")) state.tensors = read_tensors(path + "/train.safetensors");
  state.parted = read_slices(path);
  // Older checkpoints hold the averages among the rest, under the same names.
  if (const Str file = tensors_file(path, "averages"); fs::exists(file)) {
    for (auto& [name, tensor] : read_tensors(file)) state.tensors.emplace(Str(kAveraged) + name, tensor);
  }
  return state;
}

namespace {

/// Says which weights are no numbers: what is computed with them is none either.
void note_not_finite(RootState& root, const Str& source) {
  std::vector<Str> found;
  for (const Entry& entry : root.entries) {
    const In value(entry.tensor);
    const int64_t bad = value->is_floating_point() ? value->numel() - value->isfinite().sum().item<int64_t>() : 0;
    if (bad > 0) found.push_back(fmt::format("{} ({} of {})", entry.path, bad, value->numel()));
  }
  if (!found.empty()) root.notes.push_back(fmt::format("{}: weights that are not finite: {}", source, listed(found)));
}

}  // namespace

void load_weights(ModelRoot& root, const Str& path, bool averaged) {
  guarded([&] {
    if (!fs::is_directory(path)) {
      verify_member(path);
      std::map<Str, at::Tensor> wanted;
      for (const Entry& entry : root.state().entries) wanted.emplace(entry.path, aten(entry.tensor));
      take_weights(root, read_weights(path, wanted), path, WeightTypes::Convert);
      return note_not_finite(root.state(), path);
    }
    const Str damage = verify_checkpoint(path);
    if (!damage.empty()) {
      read_manifest(path);
      throw error_at({}, err::checkpoint_damaged, path, damage);
    }
    take_weights(root, read_tensors(tensors_file(path, "weights")), path, WeightTypes::Convert);
    if (averaged) take_averages(root, path);
    note_not_finite(root.state(), path);
  });
}

Str find_checkpoint(const Str& run_dir, const Str& name, std::vector<Str>* notices, bool to_resume) {
  const Str folder = run_dir + "/checkpoints";
  const auto is_whole = [&](const Str& candidate) {
    const Str damage = verify_checkpoint(folder + "/" + candidate);
    if (!damage.empty() && notices != nullptr) {
      notices->push_back(fmt::format("the checkpoint {} is damaged ({}) and is passed over", candidate, damage));
    }
    return damage.empty();
  };
  if (name != "last" && name != "best") {
    return fs::exists(folder + "/" + name + "/checkpoint.json") ? folder + "/" + name : "";
  }
  const Str target = read_link(folder, name);
  if (!target.empty() && is_whole(target)) return folder + "/" + target;
  if (name == "best") return "";
  std::vector<Str> names = checkpoint_names(folder);
  std::reverse(names.begin(), names.end());
  for (const Str& candidate : names) {
    if (candidate == target || !is_whole(candidate)) continue;
    if (!to_resume || !read_manifest(folder + "/" + candidate).value("weights_only", false))
      return folder + "/" + candidate;
  }
  return "";
}

std::vector<std::pair<Str, Str>> list_checkpoints(const Str& run_dir) {
  std::vector<std::pair<Str, Str>> list;
  const Str folder = run_dir + "/checkpoints";
  for (const Str& name : checkpoint_names(folder)) list.emplace_back(name, verify_checkpoint(folder + "/" + name));
  return list;
}

}  // namespace ltr
