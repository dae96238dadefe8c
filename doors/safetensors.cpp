#include "doors/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <system_error>

#include "doors/bytes.h"
#include "doors/json.h"
#include "doors/limits.h"

namespace ltr::doors {

namespace {

using Json = nlohmann::json;

/// False if the product of `shape` and `unit` does not fit, or a dim is negative.
bool byte_count(const std::vector<int64_t>& shape, size_t unit, uint64_t& bytes) {
  bytes = unit;
  bool is_empty = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return false;
    if (dim == 0) is_empty = true;
    if (!is_empty && __builtin_mul_overflow(bytes, uint64_t(dim), &bytes)) return false;
  }
  if (is_empty) bytes = 0;
  return true;
}

/// Parses the header and refuses keys that occur twice in one object, which JSON readers pass over.
Json parse_header(const std::string& path, std::string_view text) {
  bound_json(text, path);
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto name = value.get<std::string>();
      if (!keys.back().insert(name).second) throw FormatError(path, 8, "the key " + name + " occurs twice");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    throw FormatError(path, 8 + error.byte, "the header is not JSON");
  } catch (const Json::exception& error) {
    throw FormatError(path, 8, error.what());  // A number that no double holds.
  }
}

}  // namespace

size_t dtype_bytes(const std::string& dtype) {
  static const std::map<std::string, size_t> kSizes = {
      {"F64", 8},  {"I64", 8}, {"U64", 8}, {"C64", 8},     {"F32", 4},     {"I32", 4}, {"U32", 4}, {"F16", 2},
      {"BF16", 2}, {"I16", 2}, {"U16", 2}, {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  const auto found = kSizes.find(dtype);
  return found == kSizes.end() ? 0 : found->second;
}

void write_safetensors(const std::string& path, std::vector<TensorEntry> entries,
                       const std::map<std::string, std::string>& metadata, Sha256* digest) {
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& left, const TensorEntry& right) {
    const size_t a = dtype_bytes(left.dtype);
    const size_t b = dtype_bytes(right.dtype);
    return a != b ? a > b : left.name < right.name;
  });
  auto header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const TensorEntry& entry : entries) {
    uint64_t wanted = 0;
    const size_t unit = dtype_bytes(entry.dtype);
    if (unit == 0) throw FormatError(path, offset, entry.name + " has the unknown dtype " + entry.dtype);
    if (!byte_count(entry.shape, unit, wanted) || wanted != entry.bytes) {
      throw FormatError(path, offset, entry.name + " has bytes that do not fit its shape");
    }
    if (header.contains(entry.name)) throw FormatError(path, offset, "two tensors are called " + entry.name);
    header[entry.name] = {
        {"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {offset, offset + entry.bytes}}};
    offset += entry.bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string prefix;
  put_le(prefix, uint64_t(text.size()));
  prefix += text;

  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  const auto put = [&](const void* data, size_t bytes) {
    // In pieces that the cache still has when they are written.
    constexpr size_t kPiece = size_t(1) << 18;
    const char* next = static_cast<const char*>(data);
    for (size_t count = 0; bytes > 0; next += count, bytes -= count) {
      count = std::min(bytes, kPiece);
      if (digest != nullptr) digest->update(next, count);
      if (std::fwrite(next, 1, count, file.get()) != count)
        throw std::system_error(errno, std::generic_category(), path);
    }
  };
  if (file == nullptr) throw std::system_error(errno, std::generic_category(), path);
  put(prefix.data(), prefix.size());
  for (const TensorEntry& entry : entries) put(entry.data, entry.bytes);
  if (std::fflush(file.get()) != 0) throw std::system_error(errno, std::generic_category(), path);
}

const TensorEntry* SafetensorsFile::find(const std::string& name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const TensorEntry& entry) { return entry.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file{Mapping(path)};
  const uint64_t size = file.mapping_.size();
  if (size < 8) throw FormatError(path, 0, "too short for a safetensors file");
  const char* bytes = file.mapping_.data();
  const auto header_size = get_le<uint64_t>(bytes);
  if (header_size > limits::kSafetensorsHeader)
    throw FormatError(path, 0, "no safetensors file: its header would be longer than 100 MB");
  if (header_size > size - 8) throw FormatError(path, 0, "the header goes beyond the file");
  if (header_size == 0 || bytes[8] != '{') throw FormatError(path, 8, "the header does not begin with {");
  const Json header = parse_header(path, {bytes + 8, header_size});
  const uint64_t data_start = 8 + header_size;
  const uint64_t data_size = size - data_start;

  struct Range {
    uint64_t begin;
    uint64_t end;
  };
  std::vector<std::pair<Range, TensorEntry>> found;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      if (!value.is_object()) throw FormatError(path, 8, "__metadata__ is no object");
      for (const auto& [key, text] : value.items()) {
        if (!text.is_string()) throw FormatError(path, 8, "__metadata__." + key + " is no string");
        file.metadata_[key] = text.get<std::string>();
      }
      continue;
    }
    const auto refuse = [&](const std::string& why) {
      const std::string_view text(bytes + 8, header_size);
      const size_t at = text.find(Json(name).dump());
      return FormatError(path, 8 + (at == std::string_view::npos ? 0 : at), name + ": " + why);
    };
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets")) {
      throw refuse("dtype, shape or data_offsets is missing");
    }
    TensorEntry entry;
    entry.name = name;
    if (!value["dtype"].is_string()) throw refuse("dtype is no string");
    entry.dtype = value["dtype"].get<std::string>();
    const size_t unit = dtype_bytes(entry.dtype);
    if (unit == 0) throw refuse("unknown dtype " + entry.dtype);
    if (!value["shape"].is_array()) throw refuse("shape is no list");
    if (value["shape"].size() > limits::kTensorDims) throw refuse("it has too many dims");
    for (const Json& dim : value["shape"]) {
      if (!dim.is_number_unsigned() || dim.get<uint64_t>() > uint64_t(INT64_MAX)) throw refuse("a size is no count");
      entry.shape.push_back(dim.get<int64_t>());
    }
    const Json& offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      throw refuse("data_offsets are not two counts");
    }
    const Range range{offsets[0].get<uint64_t>(), offsets[1].get<uint64_t>()};
    uint64_t wanted = 0;
    if (!byte_count(entry.shape, unit, wanted)) throw refuse("its size overflows");
    if (range.begin > range.end || range.end > data_size) {
      throw FormatError(path, data_start + std::min(range.begin, data_size), name + " goes beyond the file");
    }
    if (range.end - range.begin != wanted) {
      throw FormatError(path, data_start + range.begin, name + " has bytes that do not fit its shape and dtype");
    }
    entry.data = bytes + data_start + range.begin;
    entry.bytes = size_t(wanted);
    found.emplace_back(range, std::move(entry));
  }
  std::sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
    return left.first.begin != right.first.begin ? left.first.begin < right.first.begin
                                                 : left.first.end < right.first.end;
  });
  uint64_t position = 0;
  for (auto& [range, entry] : found) {
    if (range.begin < position)
      throw FormatError(path, data_start + range.begin, entry.name + " overlaps the tensor before");
    if (range.begin > position) throw FormatError(path, data_start + position, "a hole before " + entry.name);
    position = range.end;
    file.tensors_.push_back(std::move(entry));
  }
  if (position != data_size) throw FormatError(path, data_start + position, "data behind the last tensor");
  return file;
}

}  // namespace ltr::doors
