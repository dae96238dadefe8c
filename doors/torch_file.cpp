#include "doors/torch_file.h"

#include <algorithm>
#include <map>

#include "doors/file.h"
#include "doors/limits.h"
#include "doors/pickle.h"
#include "doors/weights_file.h"
#include "doors/zip.h"

namespace ltr::doors {

namespace {

using Kind = PickleValue::Kind;

/// A command that writes what `path` holds as plain tensors with names. `runs_code`: it is loaded as PyTorch does by
/// itself, which runs what the file says.
std::string convert_line(const std::string& path, bool runs_code) {
  std::string quoted;
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return std::string("python3 -c 'import sys, torch; d = torch.load(sys.argv[1], map_location=\"cpu\", weights_only=") +
         (runs_code ? "False" : "True") +
         "); d = d.state_dict() if hasattr(d, \"state_dict\") else d.get(\"state_dict\", d); "
         "plain = lambda v: v.dequantize() if v.is_quantized else v.float() if v.is_floating_point() and "
         "v.element_size() == 1 else v.to_dense(); "
         "torch.save({k: plain(v).as_subclass(torch.Tensor) for k, v in d.items() if torch.is_tensor(v)}, "
         "\"converted.pt\")' '" +
         quoted + "'";
}

[[noreturn]] void refuse(uint64_t offset, const std::string& why, const std::string& cure = "") {
  WeightsError error(WeightsError::Kind::Unsupported, offset, why);
  error.cure = cure;
  throw error;
}

[[noreturn]] void refuse_code(const std::string& path, uint64_t offset, std::vector<std::string> callables) {
  WeightsError error(WeightsError::Kind::NeedsCode, offset, "reading it would call functions");
  error.callables = std::move(callables);
  error.cure = convert_line(path, true);
  throw error;
}

class Archive {
 public:
  Archive(std::string path, const Mapping& file) : path_(std::move(path)), file_(file) {
    try {
      for (ZipEntry& entry : read_zip(path_, file)) {
        // All entries stand in one folder, whose name is the archive's.
        const size_t slash = entry.name.find('/');
        std::string name = slash == std::string::npos ? entry.name : entry.name.substr(slash + 1);
        entries_.emplace(std::move(name), std::move(entry));
      }
    } catch (const FormatError& error) {
      throw WeightsError(WeightsError::Kind::Damaged, error.offset, error.reason);
    }
  }

  const ZipEntry* find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }
  /// Where the bytes of an entry lie; they are not compared with its CRC.
  std::string_view place(const ZipEntry& entry) const {
    if (entry.is_compressed)
      refuse(entry.offset, "its entry " + entry.name + " is compressed", convert_line(path_, false));
    return file_.text().substr(entry.offset, entry.size);
  }
  std::string_view bytes(const ZipEntry& entry) const {
    const std::string_view bytes = place(entry);
    check_crc(file_, entry);
    return bytes;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const Mapping& file_;
  std::map<std::string, ZipEntry> entries_;
};

class Collector {
 public:
  Collector(const Archive& archive, const Pickle& pickle) : archive_(archive), pickle_(pickle) {}

  std::vector<TorchTensor> tensors;

  /// Adds what `value` holds below the path `prefix`. An object of TorchScript is the tree of its
  /// attributes.
  void add(const PickleValue& value, const std::string& prefix, int depth) {
    if (depth > limits::kPickleDepth) refuse(0, "it is nested deeper than 256");
    // Dicts are shared: each of thirty that holds the next one twice makes a billion names.
    constexpr uint64_t kVisit = 64;
    named_ += kVisit + prefix.size();
    if (named_ > limits::kPickleNames) refuse(0, "it makes more than 64 MiB of names");
    if (value.kind == Kind::Tensor) {
      tensors.push_back(tensor(value, prefix));
    } else if (value.kind == Kind::Dict) {
      for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
        const PickleValue& key = pickle_.at(value.items[i]);
        if (key.kind == Kind::Str) add(pickle_.at(value.items[i + 1]), joined(prefix, key.text), depth + 1);
      }
    } else if (value.kind == Kind::Object && value.whole == 1 && value.text.starts_with("__torch__.")) {
      add(pickle_.at(value.items.back()), prefix, depth + 1);
    }
  }

 private:
  uint64_t named_ = 0;  ///< bytes of the names so far

  static std::string joined(const std::string& prefix, const std::string& name) {
    return prefix.empty() ? name : prefix + "." + name;
  }

  TorchTensor tensor(const PickleValue& value, const std::string& name) const {
    const PickleValue& storage = pickle_.at(value.items[0]);
    const ZipEntry* entry = archive_.find("data/" + storage.text);
    const auto damaged = [&](const std::string& why) {
      throw WeightsError(WeightsError::Kind::Damaged, entry == nullptr ? 0 : entry->offset, name + ": " + why);
    };
    if (entry == nullptr) damaged("its storage " + storage.text + " is missing");
    const std::string_view bytes = archive_.place(*entry);
    const size_t unit = dtype_bytes(value.dtype);
    uint64_t count = 1, last = 0, span = 0;
    bool fits = true;
    for (size_t i = 0; i < value.shape.size(); ++i) {
      fits = fits && !__builtin_mul_overflow(count, uint64_t(value.shape[i]), &count);
      if (value.shape[i] == 0) continue;
      fits = fits && !__builtin_mul_overflow(uint64_t(value.shape[i] - 1), uint64_t(value.strides[i]), &span) &&
             !__builtin_add_overflow(last, span, &last);
    }
    const uint64_t held = bytes.size() / unit;
    const auto offset = uint64_t(value.whole);
    // Strides of 0 name an element many times (`expand`), so there may be more elements than the storage holds.
    const bool is_inside = fits && (count == 0 || (offset < held && last < held - offset));
    uint64_t size = 0;
    if (!is_inside || __builtin_mul_overflow(count, unit, &size)) damaged("it lies outside of its storage");
    TorchTensor result;
    result.storage = *entry;
    result.entry = {name, value.dtype, value.shape, count == 0 ? bytes.data() : bytes.data() + offset * unit,
                    size_t(size)};
    int64_t dense = 1;
    for (size_t i = value.shape.size(); i-- > 0;) {
      if (value.shape[i] != 1 && value.strides[i] != dense && count != 0) result.strides = value.strides;
      dense *= value.shape[i];
    }
    return result;
  }

  const Archive& archive_;
  const Pickle& pickle_;
};

/// Whether a value maps names to tensors and holds nothing else.
bool is_state_dict(const Pickle& pickle, const PickleValue& value) {
  if (value.kind == Kind::Object) return value.whole == 1 && value.text.starts_with("__torch__.");
  if (value.kind != Kind::Dict || value.items.empty()) return false;
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    if (pickle.at(value.items[i]).kind != Kind::Str || pickle.at(value.items[i + 1]).kind != Kind::Tensor) return false;
  }
  return true;
}

std::string keys_of(const Pickle& pickle, const PickleValue& value) {
  std::string text;
  for (size_t i = 0; i + 1 < value.items.size() && i < 20 && value.kind == Kind::Dict; i += 2) {
    text += (text.empty() ? "" : ", ") + pickle.at(value.items[i]).text;
  }
  return text.empty() ? "nothing with a name" : text;
}

const PickleValue& part_of(const std::string& path, const Pickle& pickle, const std::string& part) {
  const PickleValue& root = pickle.at(pickle.root);
  if (!part.empty()) {
    const PickleValue* found = root.kind == Kind::Dict ? pickle.find(root, part) : nullptr;
    if (found == nullptr) refuse(0, "it has no part " + part + "; it holds " + keys_of(pickle, root));
    return *found;
  }
  for (const char* name : {"state_dict", "model_state_dict", "model", "module"}) {
    const PickleValue* found = root.kind == Kind::Dict ? pickle.find(root, name) : nullptr;
    if (found != nullptr && is_state_dict(pickle, *found)) return *found;
  }
  // A module that was saved whole.
  if (root.kind == Kind::Object && !root.text.starts_with("__torch__.")) refuse_code(path, 0, {root.text});
  if (!is_state_dict(pickle, root)) refuse(0, "no part of it maps names to tensors; it holds " + keys_of(pickle, root));
  return root;
}

}  // namespace

void check_crc(const Mapping& file, const ZipEntry& entry) {
  if (has_its_crc(file, entry)) return;
  throw WeightsError(WeightsError::Kind::Damaged, entry.offset,
                     "the bytes of " + entry.name + " do not have their CRC-32");
}

std::vector<TorchTensor> read_torch(const std::string& path, const Mapping& file, const std::string& part) {
  if (!file.text().starts_with("PK")) {
    if (!file.text().starts_with("\x80")) refuse(0, "it is no archive of torch.save");
    refuse(0, "it is a plain pickle, as torch.save wrote before version 1.6", convert_line(path, false));
  }
  const Archive archive(path, file);
  const ZipEntry* data = archive.find("data.pkl");
  if (data == nullptr) refuse(0, "the archive has no data.pkl");
  if (const ZipEntry* order = archive.find("byteorder"); order != nullptr && archive.bytes(*order).starts_with("big")) {
    refuse(order->offset, "its numbers are big-endian", convert_line(path, false));
  }
  Pickle pickle;
  try {
    pickle = read_pickle(archive.bytes(*data));
  } catch (const PickleError& error) {
    // No plain tensor is a complex one.
    const bool converts = std::string_view(error.what()).find("Complex") == std::string_view::npos;
    refuse(data->offset + error.offset, error.what(), converts ? convert_line(path, false) : "");
  }
  if (!pickle.calls.empty()) refuse_code(path, data->offset, pickle.calls);
  Collector collector(archive, pickle);
  collector.add(part_of(path, pickle, part), "", 0);
  return std::move(collector.tensors);
}

}  // namespace ltr::doors
