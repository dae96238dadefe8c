#pragma once

// NumPy's array files, versions 1 to 3, C order.

#include <cstdint>
#include <string>
#include <vector>

namespace ltr::doors {

/// `dtype` as in safetensors: F64 F32 F16 I64 I32 I16 I8 U8 BOOL.
struct NpyArray {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string data;
};

/// FormatError for damaged files, Fortran order, byte-swapped or object arrays (those are pickles).
NpyArray read_npy(const std::string& path);
/// The same of the bytes of a file; `name` is for messages.
NpyArray parse_npy(std::string bytes, const std::string& name);
/// The bytes of a file.
std::string encode_npy(const NpyArray& array);
/// An array of texts, which are UTF-8, as NumPy's `U`.
std::string encode_npy_texts(const std::vector<std::string>& texts);

}  // namespace ltr::doors
