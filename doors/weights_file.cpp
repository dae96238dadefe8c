#include "doors/weights_file.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "doors/json.h"
#include "doors/torch_file.h"

namespace ltr::doors {

namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";

/// A path and the part that stands behind its `#`. A file whose name holds the `#` is meant whole.
std::pair<std::string, std::string> split_part(const std::string& path) {
  std::error_code error;
  const size_t hash = path.rfind('#');
  if (hash == std::string::npos || fs::exists(path, error)) return {path, ""};
  return {path.substr(0, hash), path.substr(hash + 1)};
}

bool is_torch_name(const std::string& path) {
  for (const char* ending : {".pt", ".pth", ".bin", ".ckpt"}) {
    if (path.ends_with(ending)) return true;
  }
  return false;
}

}  // namespace

bool WeightsFile::exists(const std::string& path) {
  std::error_code error;
  return fs::exists(split_part(path).first, error);
}

WeightsFile WeightsFile::open(const std::string& given) {
  auto [path, part] = split_part(given);
  WeightsFile file;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const fs::path folder = path;
    path = (folder / (fs::exists(folder / kIndex, error) ? kIndex : "model.safetensors")).string();
  }
  try {
    if (path.ends_with(".index.json")) {
      file.open_shards(path);
    } else if (is_torch_name(path) || Mapping(path).text().starts_with("PK\x03\x04")) {
      file.open_torch(path, std::exchange(part, ""));
    } else {
      file.open_safetensors(path);
    }
    if (!part.empty()) file.keep_member(part);
  } catch (const FormatError& damage) {
    throw WeightsError(WeightsError::Kind::Damaged, damage.offset, damage.reason);
  }
  std::sort(file.tensors_.begin(), file.tensors_.end(),
            [](const TensorEntry& left, const TensorEntry& right) { return left.name < right.name; });
  return file;
}

void WeightsFile::open_safetensors(const std::string& path) {
  shards_.push_back(SafetensorsFile::open(path));
  const std::vector<TensorEntry>& found = shards_.back().tensors();
  tensors_.insert(tensors_.end(), found.begin(), found.end());
}

void WeightsFile::keep_member(const std::string& member) {
  const std::string begin = member + ".";
  std::erase_if(tensors_, [&](const TensorEntry& tensor) { return !tensor.name.starts_with(begin); });
  if (tensors_.empty()) throw WeightsError(WeightsError::Kind::Unsupported, 0, "none of its tensors is of " + member);
  for (TensorEntry& tensor : tensors_) tensor.name.erase(0, begin.size());
}

void WeightsFile::open_shards(const std::string& index) {
  const nlohmann::json parsed = read_json(index);
  const auto refuse = [&](const std::string& why) { return FormatError(index, 0, why); };
  if (!parsed.is_object() || !parsed.contains("weight_map") || !parsed["weight_map"].is_object())
    throw refuse("it has no weight_map");
  std::set<std::string> files;
  for (const auto& [name, file] : parsed["weight_map"].items()) {
    if (!file.is_string()) throw refuse("the file of " + name + " is no text");
    const std::string shard = file.get<std::string>();
    // An index names its neighbours, never files elsewhere.
    if (shard.find('/') != std::string::npos) throw refuse("the shard " + shard + " lies in another folder");
    files.insert(shard);
  }
  for (const std::string& shard : files) open_safetensors((fs::path(index).parent_path() / shard).string());
  std::set<std::string> names;
  for (const TensorEntry& tensor : tensors_) {
    if (!names.insert(tensor.name).second) throw refuse("two shards hold " + tensor.name);
    if (!parsed["weight_map"].contains(tensor.name)) throw refuse(tensor.name + " is in a shard, but not in the index");
  }
  for (const auto& [name, file] : parsed["weight_map"].items()) {
    if (names.count(name) == 0) throw refuse(name + " is in no shard");
  }
}

void WeightsFile::open_torch(const std::string& path, const std::string& part) {
  mappings_.emplace_back(path);
  for (TorchTensor& tensor : read_torch(path, mappings_.back(), part)) {
    View view{static_cast<const char*>(tensor.entry.data), tensor.strides, std::move(tensor.storage)};
    if (!views_.emplace(tensor.entry.name, std::move(view)).second) {
      throw WeightsError(WeightsError::Kind::Unsupported, 0, "two of its tensors are named " + tensor.entry.name);
    }
    if (!tensor.strides.empty()) tensor.entry.data = nullptr;
    tensors_.push_back(std::move(tensor.entry));
  }
}

const void* WeightsFile::bytes_of(const TensorEntry& tensor) {
  const auto view = views_.find(tensor.name);
  if (view == views_.end()) return tensor.data;
  const ZipEntry& storage = view->second.storage;
  if (compared_.count(storage.offset) == 0) {
    check_crc(mappings_.front(), storage);
    compared_.insert(storage.offset);
  }
  return tensor.data != nullptr ? tensor.data : copy_of(tensor, view->second);
}

const void* WeightsFile::copy_of(const TensorEntry& tensor, const View& view) {
  const size_t unit = dtype_bytes(tensor.dtype);
  copies_.emplace_back();
  std::string& out = copies_.back();
  out.reserve(tensor.bytes);
  std::vector<int64_t> index(tensor.shape.size(), 0);
  for (size_t done = 0; done < tensor.bytes; done += unit) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
    out.append(view.first + size_t(offset) * unit, unit);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < tensor.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out.data();
}

}  // namespace ltr::doors
