#pragma once

// safetensors files (doors.md 1.1): written in one canonical form, read by mmap with all refusals.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "doors/file.h"
#include "doors/hash.h"
#include "doors/mapping.h"

namespace ltr::doors {

/// A tensor to write: C-order little-endian bytes. `dtype` as in the file: F64 F32 F16 BF16 I64 I32
/// I16 I8 U8 BOOL.
struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  size_t bytes = 0;
};

/// Bytes of one element of `dtype`, 0 if it is unknown.
size_t dtype_bytes(const std::string& dtype);

/// Writes `entries` (in any order; in the file by element size, descending, then name) to `path`,
/// which is replaced. Equal input gives equal bytes. Not atomic and not synced: the caller renames.
/// Throws std::system_error when the disk fails, FormatError when an entry's bytes do not fit its
/// shape. `digest` takes in every byte on its way, so that nobody has to read the file again.
void write_safetensors(const std::string& path, std::vector<TensorEntry> entries,
                       const std::map<std::string, std::string>& metadata, Sha256* digest = nullptr);

/// An open file; `TensorEntry::data` points into the mapping and lives as long as it.
class SafetensorsFile {
 public:
  /// Throws FormatError for what is no safetensors file, std::system_error if it cannot be opened.
  static SafetensorsFile open(const std::string& path);

  /// In the order of their bytes in the file.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  const TensorEntry* find(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  explicit SafetensorsFile(Mapping mapping) : mapping_(std::move(mapping)) {}
  Mapping mapping_;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace ltr::doors
